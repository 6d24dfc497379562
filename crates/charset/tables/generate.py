#!/usr/bin/env python3
"""Writes the files of src/tables and tables/DISAGREEMENTS.md from code page tables that four independent programs already hold.

    python3 crates/charset/tables/generate.py            # writes both files
    python3 crates/charset/tables/generate.py --check    # exit 1 if they are not what the sources give

Sources: Python's codecs (not all pages), glibc's iconv, ICU's uconv (Debian package icu-devtools) and Java's charsets.
Any of them may be missing, but every page must come from at least two. A byte on which the sources differ must have an entry in
DECISIONS; a byte on which they agree must have none. So a new disagreement stops the script until somebody decides.
"""

import codecs
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RUST = HERE.parent / "src" / "tables" / "mod.rs"
RUST_ASCII = HERE.parent / "src" / "tables" / "ascii.rs"
REPORT = HERE / "DISAGREEMENTS.md"

EBCDIC = (
    "037 273 277 278 280 284 285 297 500 870 871 875 1025 1026 1047 1112 1122 1123 "
    "1140 1141 1142 1143 1144 1145 1146 1147 1148 1149 1153 1154 1155 1156 1157 1158"
).split()
WINDOWS = "1250 1251 1252 1253 1254 1255 1257".split()
# Pages of DOS, and of Cyrillic in UNIX.
DOS = "437 850 852 855 858 866".split()
KOI8 = ["KOI8-R"]
# Parts of ISO 8859 beside part 1, those that EDIFACT's character sets UNOD to UNOL are.
ISO = ["8859-2", "8859-3", "8859-4", "8859-5", "8859-6", "8859-7", "8859-8", "8859-9", "8859-15"]

UNDEFINED = 0xFFFD

NEWLINE = (
    "EBCDIC NL (0x15) is U+0085 and EBCDIC LF (0x25) is U+000A, IBM's default conversion; Java folds both into line ends "
    "(for 1047 it swaps them). Folding two bytes into one character could not be written back"
)
# (page, byte) -> (character, reason). The page "*" stands for every EBCDIC page.
DECISIONS = {
    ("*", 0x15): (0x0085, NEWLINE),
    ("1047", 0x25): (0x000A, NEWLINE),
    ("273", 0xBC): (0x00AF, "IBM's graphic SM150000 is the macron; 1141, which differs from 273 by the euro sign only, has it in all sources"),
    ("285", 0xA1): (0x00AF, "as 273: the macron, which 1146 has in all sources"),
    ("278", 0x71): (0x005C, "glibc exchanges 0x71 and 0xE0; 1143 (278 with the euro sign) has the backslash here in all sources"),
    ("278", 0xE0): (0x00C9, "as 0x71"),
    ("870", 0xB0): (0x02D9, "Latin-2 has the dot above, not the middle dot"),
    ("871", 0x4A): (0x00DE, "glibc exchanges capital and small thorn; 1149 (871 with the euro sign) has the capital here in all sources"),
    ("871", 0xC0): (0x00FE, "as 0x4A"),
    ("875", 0x6A): (0x007C, "glibc leaves it undefined; three sources have the vertical bar"),
    ("875", 0x74): (0x00A0, "glibc has NABLA, which is in no Greek set; three sources have the no-break space"),
    ("875", 0xDD): (0x0387, "Greek ano teleia; glibc has its canonical equivalent, the middle dot"),
    ("1026", 0x9A): (0x00AA, "ICU has the lira sign of 2012 here; the page as registered has the feminine ordinal"),
    ("1026", 0x9D): (0x00B8, "cedilla; glibc has the ogonek, which Turkish does not use"),
    ("1026", 0xBC): (0x00AF, "macron; glibc has the em dash"),
    ("1122", 0xBC): (0x00AF, "as 273: the macron, which 1157 has in all sources"),
    ("1155", 0x9A): (0x00AA, "as 1026, from which the page differs by the euro sign only"),
    ("437", 0xE6): (0x00B5, "the micro sign of Latin-1 in three sources; ICU has the Greek letter"),
    ("852", 0xAA): (0x00AC, "the not sign in three sources; ICU leaves it undefined"),
}
UNASSIGNED_875 = "Python writes its substitute U+001A for bytes that the page does not assign; they stay undefined"
for byte in (0xDC, 0xE1, 0xEC, 0xED, 0xFC, 0xFD):
    DECISIONS[("875", byte)] = (UNDEFINED, UNASSIGNED_875)
UNASSIGNED = "unassigned: in record data it is a sign of another code page, so it is an error rather than a control character"
UNASSIGNED_OF = {
    "1250": (0x81, 0x83, 0x88, 0x90, 0x98),
    "1251": (0x98,),
    "1252": (0x81, 0x8D, 0x8F, 0x90, 0x9D),
    "1253": (0x81, 0x88, 0x8A, 0x8C, 0x8D, 0x8E, 0x8F, 0x90, 0x98, 0x9A, 0x9C, 0x9D, 0x9E, 0x9F, 0xAA),
    "1254": (0x81, 0x8D, 0x8E, 0x8F, 0x90, 0x9D, 0x9E),
    "1255": (0x81, 0x8A, 0x8C, 0x8D, 0x8E, 0x8F, 0x90, 0x9A, 0x9C, 0x9D, 0x9E, 0x9F),
    "1257": (0x81, 0x83, 0x88, 0x8A, 0x8C, 0x90, 0x98, 0x9A, 0x9C, 0x9F),
}
for page, bytes_of in UNASSIGNED_OF.items():
    for byte in bytes_of:
        DECISIONS[(page, byte)] = (UNDEFINED, UNASSIGNED)
CONTROLS = "the control character of ASCII; ICU exchanges three of them as IBM's tools for PCs did"
for page in DOS:
    for byte in (0x1A, 0x1C, 0x7F):
        DECISIONS[(page, byte)] = (byte, CONTROLS)


def from_python(page):
    try:
        codec = codecs.lookup("iso" + page if page in ISO else page if page in KOI8 else "cp" + page)
    except LookupError:
        return None
    table = []
    for byte in range(256):
        try:
            table.append(ord(codec.decode(bytes([byte]))[0]))
        except UnicodeDecodeError:
            table.append(UNDEFINED)
    return table


def from_filter(command):
    """One process per byte: an undefined byte ends the conversion."""
    if subprocess.run(command, input=b"", capture_output=True).returncode != 0:
        return None
    table = []
    for byte in range(256):
        done = subprocess.run(command, input=bytes([byte]), capture_output=True)
        table.append(int.from_bytes(done.stdout, "big") if done.returncode == 0 and len(done.stdout) == 2 else UNDEFINED)
    return table


def from_glibc(page):
    if not shutil.which("iconv"):
        return None
    for name in ("ISO-" + page,) if page in ISO else (page,) if page in KOI8 else ("IBM" + page, "IBM-" + page, "CP" + page):
        table = from_filter(["iconv", "-f", name, "-t", "UTF-16BE"])
        if table:
            return table
    return None


def from_icu(page):
    if not shutil.which("uconv"):
        return None
    if page in KOI8:
        name = page
    else:
        name = "windows-" + page if page in WINDOWS else "ISO-" + page if page in ISO else "ibm-" + page.lstrip("0")
    return from_filter(["uconv", "-f", name, "-t", "UTF-16BE"])


JAVA = """
class Tables {
    public static void main(String[] pages) throws Exception {
        for (String page : pages)
            for (String name : new String[] {"ISO-" + page, "IBM" + page, "windows-" + page, "x-IBM" + page, "Cp" + page, page})
                if (java.nio.charset.Charset.isSupported(name)) {
                    StringBuilder line = new StringBuilder(page);
                    for (int b = 0; b < 256; b++)
                        line.append(' ').append((int) new String(new byte[] {(byte) b}, name).charAt(0));
                    System.out.println(line);
                    break;
                }
    }
}
"""


def all_from_java(pages):
    if not shutil.which("java"):
        return {}
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "Tables.java")
        pathlib.Path(source).write_text(JAVA)
        lines = subprocess.run(["java", source, *pages], capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[0]: [int(word) for word in line.split()[1:]] for line in lines}


def decide(page, sources, report):
    table = []
    for byte in range(256):
        votes = {name: source[byte] for name, source in sources.items()}
        decision = DECISIONS.get((page, byte)) or (DECISIONS.get(("*", byte)) if page in EBCDIC else None)
        if len(set(votes.values())) == 1:
            if (page, byte) in DECISIONS and len(sources) == 4:
                sys.exit(f"page {page} byte {byte:#04x}: the sources agree, so DECISIONS must not have an entry")
            table.append(next(iter(votes.values())))
            continue
        if not decision:
            sys.exit(f"page {page} byte {byte:#04x}: the sources differ, and DECISIONS has no entry: {votes}")
        if decision[0] not in votes.values():
            sys.exit(f"page {page} byte {byte:#04x}: no source supports the decision")
        report.append((page, byte, votes, *decision))
        table.append(decision[0])
    return table


def shown(char):
    return "none" if char == UNDEFINED else f"U+{char:04X}"


def full(name, doc, table):
    out = [f"/// {doc}", "#[rustfmt::skip]", f"pub(crate) const {name}: [u16; 256] = ["]
    for row in range(0, 256, 16):
        for half in (row, row + 8):
            note = f" // {row:02x}" if half == row else ""
            out.append("    " + " ".join(f"{char:#06x}," for char in table[half : half + 8]) + note)
    out.append("];")
    return out


def delta(name, doc, base, base_table, table):
    pairs = [(byte, char) for byte, char in enumerate(table) if base_table[byte] != char]
    out = [f"/// {doc}", "#[rustfmt::skip]", f"pub(crate) const {name}: [u16; 256] = patch({base}, &["]
    for at in range(0, len(pairs), 6):
        out.append("    " + " ".join(f"({byte:#04x}, {char:#06x})," for byte, char in pairs[at : at + 6]))
    out.append("]);")
    return out


HEAD = '''\
//! Code page tables, byte to Unicode; `0xfffd` is an unassigned byte. Generated by `tables/generate.py`: change the script, not this file.
//!
//! Pages that permute another page's repertoire are written as the bytes that differ from it.

mod ascii;

pub(crate) use ascii::*;

/// `base` with some bytes changed.
const fn patch(mut base: [u16; 256], changes: &[(u8, u16)]) -> [u16; 256] {
    let mut i = 0;
    while i < changes.len() {
        base[changes[i].0 as usize] = changes[i].1;
        i += 1;
    }
    base
}

/// ISO-8859-1: the first 256 characters of Unicode.
pub(crate) const LATIN1: [u16; 256] = through(0xff);

/// US-ASCII.
pub(crate) const ASCII: [u16; 256] = through(0x7f);

/// Bytes up to `last` are the character with their number, the others are unassigned.
const fn through(last: usize) -> [u16; 256] {
    let mut table = [0xfffd; 256];
    let mut i = 0u16;
    while i as usize <= last {
        table[i as usize] = i;
        i += 1;
    }
    table
}
'''

HEAD_ASCII = """\
//! Tables of the pages that extend ASCII. Generated by `tables/generate.py`: change the script, not this file.

use super::{LATIN1, patch};
"""


def main():
    pages = EBCDIC + WINDOWS + ISO + DOS + KOI8
    java = all_from_java(pages)
    report, tables = [], {}
    for page in pages:
        sources = {"Python": from_python(page), "glibc": from_glibc(page), "ICU": from_icu(page), "Java": java.get(page)}
        sources = {name: table for name, table in sources.items() if table}
        if len(sources) < 2:
            sys.exit(f"page {page}: {len(sources)} source(s) on this machine, at least 2 are needed")
        tables[page] = decide(page, sources, report)

    rust, ascii = [HEAD], [HEAD_ASCII]
    # The pages of 1999 with the euro sign, and the older pages that they renew.
    news = [str(page) for page in (*range(1140, 1150), *range(1153, 1159))]
    bases = dict(zip(news, "037 273 277 278 280 284 285 297 500 871 870 1025 1026 1112 1122 1123".split()))
    for page in pages:
        base = "CP" + bases.get(page, "037") if page in EBCDIC else "LATIN1"
        base_table = list(range(256)) if base == "LATIN1" else tables[base[2:]]
        name, doc = f"CP{page}", f"Code page {page}."
        if page in ISO:
            name, doc = "ISO" + page.replace("-", "_"), f"ISO {page}."
        if page in KOI8:
            name, doc = page.replace("-", "_"), f"{page}, RFC 1489."
        differing = sum(a != b for a, b in zip(tables[page], base_table))
        lines = rust if page in EBCDIC else ascii
        if page == "037" or differing > 64 and page not in ISO:
            lines += full(name, doc, tables[page])
        else:
            lines += delta(name, doc, base, base_table, tables[page])
        lines.append("")
    rust_text, ascii_text = ("\n".join(lines).rstrip("\n") + "\n" for lines in (rust, ascii))

    lines = [
        "# Bytes on which the sources of the code page tables differ",
        "",
        "Written by `generate.py`. Sources: Python's codecs, glibc's iconv, ICU's uconv, Java's charsets.",
        "",
        "| page | byte | " + " | ".join(("Python", "glibc", "ICU", "Java")) + " | ours | reason |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for page, byte, votes, char, reason in report:
        # One row for a byte on which every page has the same disagreement.
        if ("*", byte) in DECISIONS and (page, byte) not in DECISIONS:
            if page != EBCDIC[0]:
                continue
            page = "every EBCDIC page"
        cells = [shown(votes[name]) if name in votes else "–" for name in ("Python", "glibc", "ICU", "Java")]
        lines.append(f"| {page} | 0x{byte:02X} | " + " | ".join(cells) + f" | **{shown(char)}** | {reason} |")
    report_text = "\n".join(lines) + "\n"

    files = ((RUST, rust_text), (RUST_ASCII, ascii_text), (REPORT, report_text))
    if "--check" in sys.argv[1:]:
        stale = [str(path) for path, text in files if path.read_text() != text]
        sys.exit(f"stale: {', '.join(stale)}" if stale else 0)
    for path, text in files:
        path.write_text(text)


if __name__ == "__main__":
    main()
