//! Interface files and copy folders as their users see them.

mod copy_folders;
mod interface_file;
