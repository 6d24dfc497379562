//! The models against published answers, other solvers and the laws that every answer obeys.

mod advice;
mod audit;
mod graph;
mod laws;
mod models;
mod oracles;
mod printed;
mod rules;
mod simulation;
