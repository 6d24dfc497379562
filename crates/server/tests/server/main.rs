//! Tests of the server as its clients and operators see it: real sockets, real programs.
//!
//! Defects that an independent check of the gateway found, with their tests:
//!
//! | defect | test |
//! |---|---|
//! | C1 signs of a program that another compiler made | `quayline-gateway`, `a_service_agrees_with_the_compiler_of_its_program`, `a_proposal_agrees_with_the_compiler_of_the_program_or_names_another_provider`; `agreement` |
//! | C2 a request that panics | `thread::tests::a_panic_in_a_request_is_a_500_on_record_and_nothing_is_left_behind`; `quayline-gateway`, `an_answer_that_shows_nothing_is_an_empty_object_or_element` |
//! | C3 a reload that cannot read the APIs | `a_folder_that_cannot_be_read_takes_no_api_away`, `idle_connections_make_room_where_files_run_out`, `one_address_has_a_limit_of_connections` |
//! | C4 the memory of another call | `one_client_neither_reads_nor_changes_the_call_of_another`; `quayline-program`, `no_overrun_or_underrun_reaches_another_call` |
//! | C5 WORKING-STORAGE between clients | `working_storage_is_not_shared_by_clients_unless_the_service_says_so` |
//! | C6 a changed copybook | `a_changed_copybook_recompiles_its_programs_at_reload_and_at_start`, `a_module_that_is_not_what_its_copybooks_make_is_not_called` |
//! | C7 clients that pad numbers, quote them or send null | `quayline-gateway`, `leading_zeros_numbers_in_strings_and_null_are_taken_where_the_service_says_so`, `a_number_may_be_text_of_all_its_digits` |
//! | C8 `multipleOf` | `quayline-gateway`, `ranges_and_steps_come_from_digits_and_scale` |
//! | C9 a rounded `maximum` | `quayline-gateway`, `no_bound_is_rounded_to_a_number_that_the_field_does_not_hold` |
//! | C10 an unknown key | `quayline-gateway`, `no_record_is_404_and_never_the_first_one` |
//! | C11 `wait-limit-ms` | `a_call_behind_one_that_loops_waits_no_longer_than_its_limit` |
//! | C12 documents of a guarded API | `a_key_opens_what_its_roles_open_and_changes_without_a_restart` |
//! | C13 `If-None-Match` on POST | `a_request_whose_condition_is_false_is_not_performed` |
//! | C14 failures below HTTP | `what_fails_below_requests_is_on_record`, `a_handshake_has_a_time` |
//! | C15 `serve --check` | `quayline-cli`, `what_cannot_work_is_found_before_a_server_starts` |
//! | C16 `fields` in the document | `quayline-gateway`, `schemas_have_lengths_ranges_and_what_is_required` |
//! | C17 CORS preflight | `browsers_of_listed_origins_may_call` |
//! | C18 the settings file, names in logs, keys of an issuer, compression | `a_changed_settings_file_waits_for_a_restart_and_says_so`, `a_clients_name_is_one_word_of_the_access_log`, `old_keys_stay_in_force_for_as_long_as_is_said_and_then_no_longer`, `compression_is_for_whoever_takes_it_where_the_api_says_so` |
#![expect(clippy::unwrap_used, reason = "a test stops at what is wrong")]

mod access;
mod agreement;
mod audit;
mod dealership;
mod failing_programs;
mod hostile;
mod http;
mod issuer;
mod limits;
mod operation;
mod parameters;
mod proxies;
mod queues;
mod records;
mod reload;
mod sql;
mod telemetry;
mod tls;
mod world;
