//! Stored states: the format of a file and the rules of a folder.

use std::time::{Duration, SystemTime};

use local_inference_core::durable::{
  Fingerprint, HEADER_BYTES, Header, Ignored, StateFile, WORD_BYTES, encode_history, superfluous,
};
use local_inference_core::history::{History, Media};
use proptest::collection::vec;
use proptest::prelude::*;

const OURS: Fingerprint = Fingerprint { model: [1, 2], settings: [3, 4], build: [5, 6] };

fn write(history: &History, state: &[u8]) -> Vec<u8> {
  let header = Header::new(OURS, "a", history, state);
  [&header.encode()[..], &encode_history(history), state].concat()
}

fn read(file: &[u8], expected: &Fingerprint, conversation: &str) -> Result<(History, Vec<u8>), Ignored> {
  let Some((head, content)) = file.split_first_chunk::<HEADER_BYTES>() else {
    return Err(Ignored::NotAState);
  };
  let header = Header::parse(head, file.len() as u64, expected, conversation)?;
  let (words, state) = content.split_at(usize::try_from(header.words).expect("a small number") * WORD_BYTES);
  Ok((header.check(words, state)?, state.to_vec()))
}

#[test]
fn a_foreign_file_is_ignored_with_its_reason() {
  let file = write(&[1, 2, 3].into(), b"state");
  assert_eq!(read(&file, &OURS, "a"), Ok(([1, 2, 3].into(), b"state".to_vec())));
  assert_eq!(read(&file, &Fingerprint { model: [9, 2], ..OURS }, "a"), Err(Ignored::OtherModel));
  assert_eq!(read(&file, &Fingerprint { settings: [3, 9], ..OURS }, "a"), Err(Ignored::OtherSettings));
  assert_eq!(read(&file, &Fingerprint { build: [9, 9], ..OURS }, "a"), Err(Ignored::OtherBuild));
  assert_eq!(read(&file, &OURS, "b"), Err(Ignored::OtherConversation));
  assert_eq!(read(b"GGUF, but no state of a conversation at all: nothing that we know how to read, not even its header, however long it is", &OURS, "a"), Err(Ignored::NotAState));
  let of_version = |version: u8| [&file[..8], &[version], &file[9..]].concat();
  assert_eq!(read(&of_version(3), &OURS, "a"), Err(Ignored::OtherVersion));
  assert_eq!(read(&of_version(0), &OURS, "a"), Err(Ignored::OtherVersion));
  // The version of files with media, but there are none.
  assert_eq!(read(&of_version(2), &OURS, "a"), Err(Ignored::Damaged));
}

#[test]
fn a_text_is_stored_as_it_was_before_there_were_media() {
  let header = [1_u64, 2, 1, 1, 2, 3, 4, 5, 6];
  let file = write(&[7, 9].into(), b"s");
  let numbers: Vec<u8> = header.iter().flat_map(|number| number.to_le_bytes()).collect();
  assert_eq!(&file[..8], b"LIKVSTAT");
  assert_eq!(&file[8..8 + numbers.len()], numbers);
  assert_eq!(&file[HEADER_BYTES..], [7, 0, 0, 0, 9, 0, 0, 0, b's']);
}

/// Histories of text and media.
fn history() -> impl Strategy<Value = History> {
  let media = (any::<[u64; 2]>(), 1..u32::MAX, 1..u32::MAX);
  let text = vec(0..i32::MAX, 0..8);
  vec((text, proptest::option::weighted(0.3, media)), 0..5).prop_map(|parts| {
    let mut history = History::default();
    for (text, media) in parts {
      history.extend_from_slice(&text);
      if let Some((id, cells, positions)) = media {
        let count = |number: u32| number.try_into().expect("at least 1");
        history.push_media(Media { id, cells: count(cells), positions: count(positions) });
      }
    }
    history
  })
}

#[test]
fn conversations_and_models_have_files_of_their_own_and_names_that_are_safe() {
  let other = Fingerprint { model: [7, 7], ..OURS };
  let settings = Fingerprint { settings: [7, 7], build: [8, 8], ..OURS };
  let name = OURS.file_name("../../etc/passwd");
  assert!(name.strip_suffix(".kvstate").unwrap().chars().all(|c| c.is_ascii_hexdigit()), "{name}");
  assert_ne!(OURS.file_name("a"), OURS.file_name("b"));
  assert_ne!(OURS.file_name("a"), other.file_name("a"));
  assert_eq!(OURS.file_name("a"), settings.file_name("a"));
}

fn file(bytes: u64, age: u64) -> StateFile {
  StateFile { bytes, used: SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - age) }
}

fn removed(files: &[StateFile], bytes: u64, time_to_live: u64) -> Vec<usize> {
  let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
  let mut removed = superfluous(files, now, bytes, Duration::from_secs(time_to_live));
  removed.sort_unstable();
  removed
}

#[test]
fn old_files_go_and_then_the_longest_unused() {
  let files = [file(10, 5), file(10, 50), file(10, 1), file(10, 500)];
  assert_eq!(removed(&files, 100, 1_000), [] as [usize; 0]);
  assert_eq!(removed(&files, 100, 100), [3]);
  assert_eq!(removed(&files, 25, 1_000), [1, 3]);
  assert_eq!(removed(&files, 5, 1_000), [0, 1, 2, 3]);
}

proptest! {
  #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

  #[test]
  fn a_changed_or_cut_file_is_never_taken_for_a_good_one(
    history in history(), state in vec(any::<u8>(), 0..60), place in any::<prop::sample::Index>(), bit in 0_u32..8
  ) {
    let file = write(&history, &state);
    prop_assert_eq!(read(&file, &OURS, "a"), Ok((history, state)));
    let at = place.index(file.len());
    let mut changed = file.clone();
    changed[at] ^= 1_u8 << bit;
    prop_assert!(read(&changed, &OURS, "a").is_err(), "byte {} of {}", at, file.len());
    prop_assert!(read(&file[..at], &OURS, "a").is_err());
    prop_assert!(read(&[&file[..], &[0]].concat(), &OURS, "a").is_err());
  }

  #[test]
  fn any_bytes_are_refused_without_a_panic(bytes in vec(any::<u8>(), 0..200)) {
    prop_assert!(read(&bytes, &OURS, "a").is_err());
  }

  #[test]
  fn what_stays_fits_and_is_never_older_than_what_goes_for_lack_of_room(
    sizes in vec((1_u64..50, 0_u64..400), 0..20), bytes in 0_u64..300
  ) {
    let files: Vec<_> = sizes.iter().map(|&(bytes, age)| file(bytes, age)).collect();
    let gone = removed(&files, bytes, 300);
    let kept: u64 = (0..files.len()).filter(|index| !gone.contains(index)).map(|index| files[index].bytes).sum();
    prop_assert!(kept <= bytes);
    prop_assert!((0..files.len()).all(|index| sizes[index].1 <= 300 || gone.contains(&index)));
  }
}
