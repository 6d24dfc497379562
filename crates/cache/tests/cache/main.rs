//! A cache returns the stored entry or nothing.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use quayline_cache::{Cache, Key};
use tempfile::TempDir;

fn cache(folder: &TempDir, bytes_max: u64) -> Cache {
    Cache::new(folder.path().join("quayline"), b"engine 1".to_vec(), bytes_max)
}

fn key(cache: &Cache, of: &str) -> Key {
    cache.key("test", [of.as_bytes()])
}

fn file(cache: &Cache, key: Key) -> PathBuf {
    cache.folder().join(format!("{}.qlc", key.digits()))
}

#[test]
fn what_was_kept_comes_back() {
    let folder = TempDir::new().unwrap();
    let cache = cache(&folder, 1 << 20);
    let a = key(&cache, "a");
    assert_eq!(cache.get(a), None);
    assert!(cache.put(a, b"payload"));
    assert_eq!(cache.get(a).as_deref(), Some(&b"payload"[..]));
    assert!(cache.put(a, b""), "an entry is replaced");
    assert_eq!(cache.get(a).as_deref(), Some(&b""[..]));
    assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), 1, "nothing else is left behind");
}

#[test]
fn keys_tell_engines_kinds_and_parts_apart() {
    let folder = TempDir::new().unwrap();
    let one = cache(&folder, 1 << 20);
    let other = Cache::new(one.folder().to_owned(), b"engine 2".to_vec(), 1 << 20);
    let keys = [
        one.key("a", [&b"xy"[..]]),
        other.key("a", [&b"xy"[..]]),
        one.key("b", [&b"xy"[..]]),
        one.key("a", [&b"x"[..], b"y"]),
        one.key("a", [&b""[..], b"xy"]),
        one.key("a", []),
    ];
    for (i, key) in keys.iter().enumerate() {
        assert!(!keys[..i].contains(key));
    }
}

#[test]
fn a_file_that_is_cut_or_changed_anywhere_is_no_entry() {
    let folder = TempDir::new().unwrap();
    let cache = cache(&folder, 1 << 20);
    let a = key(&cache, "a");
    assert!(cache.put(a, b"some payload that matters"));
    let whole = fs::read(file(&cache, a)).unwrap();
    let wrong = |bytes: &[u8], what: &str| {
        fs::write(file(&cache, a), bytes).unwrap();
        assert_eq!(cache.get(a), None, "{what}");
        assert!(!file(&cache, a).exists(), "{what}: it is removed");
    };
    for until in 0..whole.len() {
        wrong(&whole[..until], &format!("cut at {until}"));
    }
    for at in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        wrong(&bytes, &format!("bit {at}"));
    }
    wrong(&[whole.as_slice(), b"x"].concat(), "longer");
    // An entry under another's name.
    let b = key(&cache, "b");
    fs::write(file(&cache, b), &whole).unwrap();
    assert_eq!(cache.get(b), None);
    fs::write(file(&cache, a), &whole).unwrap();
    assert!(cache.get(a).is_some());
}

#[test]
fn the_folder_is_bounded_and_what_was_used_last_stays() {
    let folder = TempDir::new().unwrap();
    let cache = cache(&folder, 4000);
    let keys: Vec<Key> = (0..10).map(|n| key(&cache, &n.to_string())).collect();
    let now = std::time::SystemTime::now();
    for (n, key) in (0u64..).zip(&keys) {
        assert!(cache.put(*key, &[0; 900]));
        let made = now - std::time::Duration::from_secs(10_000 - n);
        fs::File::options().write(true).open(file(&cache, *key)).unwrap().set_modified(made).unwrap();
        // The first one is used all the time.
        assert!(cache.get(keys[0]).is_some());
    }
    let there = |key: &&Key| file(&cache, **key).exists();
    assert_eq!(keys.iter().filter(there).count(), 4);
    assert!(there(&&keys[0]) && there(&&keys[9]) && !there(&&keys[1]));
    assert!(!cache.put(keys[1], &[0; 1001]), "nothing takes more than a quarter");
}

#[test]
fn what_nobody_finished_goes_and_foreign_files_stay() {
    let folder = TempDir::new().unwrap();
    let cache = cache(&folder, 4000);
    assert!(cache.put(key(&cache, "a"), b"x"));
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    for name in ["left.tmp", "mine.txt"] {
        fs::write(cache.folder().join(name), "x").unwrap();
        fs::File::options().write(true).open(cache.folder().join(name)).unwrap().set_modified(old).unwrap();
    }
    fs::write(cache.folder().join("new.tmp"), "x").unwrap();
    assert!(cache.put(key(&cache, "b"), &[0; 900]));
    let there = |name: &str| cache.folder().join(name).exists();
    assert!(!there("left.tmp") && there("mine.txt") && there("new.tmp"));
}

#[cfg(unix)]
#[test]
fn a_folder_that_others_may_write_to_is_not_used() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = TempDir::new().unwrap();
    let cache = cache(&folder, 4000);
    let a = key(&cache, "a");
    assert!(cache.put(a, b"x"));
    assert_eq!(fs::metadata(cache.folder()).unwrap().permissions().mode() & 0o777, 0o700);
    fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(cache.get(a), None);
    assert!(!cache.put(a, b"y"));
    fs::set_permissions(cache.folder(), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(cache.get(a).as_deref(), Some(&b"x"[..]));
}

#[test]
fn a_folder_that_cannot_be_made_is_no_trouble() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("quayline"), "a file").unwrap();
    let cache = cache(&folder, 4000);
    assert!(!cache.put(key(&cache, "a"), b"x"));
    assert_eq!(cache.get(key(&cache, "a")), None);
}

#[test]
fn runs_at_the_same_time_see_whole_entries_only() {
    let folder = TempDir::new().unwrap();
    let cache = cache(&folder, 1 << 20);
    let a = key(&cache, "a");
    std::thread::scope(|scope| {
        for n in 0..4u8 {
            let cache = &cache;
            scope.spawn(move || {
                for _ in 0..50 {
                    cache.put(a, &vec![n; 5000 + usize::from(n)]);
                    let found = cache.get(a).expect("renamed over, never removed");
                    assert!(found.iter().all(|byte| *byte == found[0]));
                    assert_eq!(found.len(), 5000 + usize::from(found[0]));
                }
            });
        }
    });
    assert_eq!(fs::read_dir(cache.folder()).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_file_is_taken_for_an_entry(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let folder = TempDir::new().unwrap();
        let cache = cache(&folder, 1 << 20);
        let a = key(&cache, "a");
        fs::create_dir_all(cache.folder()).unwrap();
        fs::write(file(&cache, a), bytes).unwrap();
        prop_assert_eq!(cache.get(a), None);
    }
}
