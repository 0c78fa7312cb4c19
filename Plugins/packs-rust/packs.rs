//! Keeps recorded talks on the device: reads `{"sessions":[{"id","title","url","size","essential"}]}` and asks for each
//! file that the container doesn't hold yet. No crates: the ABI is mirrored below, the manifest is scanned by hand.

use std::ffi::{c_char, c_void, CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::{fs, mem::size_of, ptr, slice};

const GROUP: &[u8] = b"group.com.example.sessions";
const OK: i32 = 0;
const FAILED: i32 = -1;
const REQUEST_UPDATE: i32 = 2;
const ESSENTIAL: u32 = 1;
const LOG_ERROR: i32 = 3;

// background_assets_extension.h, member by member.

#[repr(C)]
#[derive(Clone, Copy)]
struct Text {
    bytes: *const c_char,
    length: usize,
}

#[repr(C)]
struct ContentRequest {
    size: u32,
    kind: i32,
    manifest_path: Text,
    download_size_remaining: i64,
    essential_download_size_remaining: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Download {
    size: u32,
    flags: u32,
    identifier: Text,
    unique_identifier: Text,
    url: Text,
    http_method: Text,
    http_body: Text,
    http_headers: *const c_void,
    http_header_count: usize,
    application_group_identifier: Text,
    file_size: i64,
    priority: i64,
    state: i32,
    reserved: u32,
}

#[repr(C)]
struct Failure {
    size: u32,
    reserved: u32,
    code: i64,
    domain: Text,
    description: Text,
}

#[repr(C)]
struct Host {
    size: u32,
    abi_version: u32,
    context: *mut c_void,
    bundle_identifier: Text,
    bundle_path: Text,
    log: extern "C" fn(*const Host, i32, Text, Text, Text),
    answer: extern "C" fn(*const Host, *const Download) -> i32,
    schedule: extern "C" fn(*const Host, *const Download) -> i32,
    cancel: extern "C" fn(*const Host, Text) -> i32,
    current_downloads: extern "C" fn(*const Host, *const c_void, *mut c_void) -> i32,
    acquire_exclusive_control: extern "C" fn(*const Host, i64) -> i32,
    release_exclusive_control: extern "C" fn(*const Host),
    begin_activity: extern "C" fn(*const Host),
    end_activity: extern "C" fn(*const Host),
    container_path: extern "C" fn(*const Host, Text, *mut c_char, usize, *mut usize) -> i32,
}

#[repr(C)]
struct EntryPoint {
    name: *const c_char,
    signature: *const c_char,
    function: *const c_void,
}

#[repr(C)]
pub struct Extension {
    size: u32,
    abi_version: u32,
    name: *const c_char,
    entry_points: *const EntryPoint,
    entry_point_count: usize,
}

// The table is constant: what it points to is never written.
unsafe impl Sync for EntryPoint {}
unsafe impl Sync for Extension {}

impl Text {
    fn lend(text: &[u8]) -> Text {
        Text { bytes: text.as_ptr().cast(), length: text.len() }
    }

    /// The host's text is valid until the entry point returns, and so is the borrow: it can't be kept longer.
    unsafe fn get<'a>(self) -> &'a [u8] {
        if self.bytes.is_null() { &[] } else { slice::from_raw_parts(self.bytes.cast(), self.length) }
    }
}

impl Host {
    fn report(&self, subject: &[u8], problem: &str) -> i32 {
        let line = format!("{}: {problem}", String::from_utf8_lossy(subject));
        let subsystem = Text::lend(b"com.example.sessions.downloader");
        (self.log)(self, LOG_ERROR, subsystem, Text::lend(b"packs"), Text::lend(line.as_bytes()));
        FAILED
    }

    /// Where the file of a session belongs; `None` if the name isn't a plain one, or there is no container.
    fn place(&self, id: &[u8]) -> Option<PathBuf> {
        if id.is_empty() || id.len() > 200 || id[0] == b'.' || id.contains(&b'/') || id.contains(&0) {
            return None;
        }
        let (mut path, mut length) = ([0u8; 4096], 0);
        let status = (self.container_path)(self, Text::lend(GROUP), path.as_mut_ptr().cast(), path.len(), &mut length);
        let container = Path::new(OsStr::from_bytes(path.get(..length).filter(|_| status == OK)?));
        Some(container.join("Library/Caches/Sessions").join(OsStr::from_bytes(id)))
    }
}

/// A reader of JSON that keeps nothing but its place.
struct Scanner<'a> {
    rest: &'a [u8],
}

#[derive(Default)]
struct Session {
    id: Vec<u8>,
    url: Vec<u8>,
    size: i64,
    essential: bool,
}

impl<'a> Scanner<'a> {
    /// Steps over white space, and over `byte` if it comes next.
    fn is(&mut self, byte: u8) -> bool {
        self.rest = self.rest.trim_ascii_start();
        let found = self.rest.first() == Some(&byte);
        self.rest = &self.rest[found as usize..];
        found
    }

    /// Reads a string; empty if it has an escape that no id and no URL needs.
    fn string(&mut self) -> Option<Vec<u8>> {
        let (mut text, mut plain, mut escaped) = (Vec::new(), true, false);
        if !self.is(b'"') {
            return None;
        }
        for (index, &byte) in self.rest.iter().enumerate() {
            match byte {
                0..=0x1f => return None,
                b'"' if !escaped => {
                    self.rest = &self.rest[index + 1..];
                    return Some(if plain { text } else { Vec::new() });
                }
                b'\\' if !escaped => {
                    escaped = true;
                    continue;
                }
                b'"' | b'\\' | b'/' => {}
                _ => plain &= !escaped,
            }
            escaped = false;
            text.push(byte);
        }
        None
    }

    /// Steps over any value by counting brackets, so that no nesting is too deep; returns its text.
    fn skip(&mut self) -> Option<&'a [u8]> {
        self.rest = self.rest.trim_ascii_start();
        let (start, mut depth) = (self.rest, 0usize);
        loop {
            if self.is(b'{') || self.is(b'[') {
                depth += 1;
            } else if depth > 0 && (self.is(b'}') || self.is(b']')) {
                depth -= 1;
            } else if depth > 0 && (self.is(b',') || self.is(b':')) {
                continue;
            } else if self.rest.first() == Some(&b'"') {
                self.string()?;
            } else {
                let end = self.rest.iter().position(|byte| !b"+-.0123456789Eaeflnrstu".contains(byte));
                let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                if !word.first().is_some_and(|byte| b"-0123456789tfn".contains(byte)) {
                    return None;
                }
                self.rest = rest;
            }
            if depth == 0 {
                return Some(&start[..start.len() - self.rest.len()]);
            }
        }
    }

    fn session(&mut self) -> Option<Session> {
        let mut session = Session::default();
        if !self.is(b'{') {
            return None;
        }
        loop {
            let key = self.string().filter(|_| self.is(b':'))?;
            match key.as_slice() {
                b"id" => session.id = self.string()?,
                b"url" => session.url = self.string()?,
                b"size" => session.size = std::str::from_utf8(self.skip()?).ok()?.parse().unwrap_or(0),
                b"essential" => session.essential = self.skip()? == b"true",
                _ => _ = self.skip()?,
            }
            if !self.is(b',') {
                return self.is(b'}').then_some(session);
            }
        }
    }

    /// All sessions, or `None` if the manifest is malformed anywhere.
    fn catalogue(&mut self) -> Option<Vec<Session>> {
        let mut found = None;
        if !self.is(b'{') {
            return None;
        }
        loop {
            let key = self.string().filter(|_| self.is(b':'))?;
            if key == b"sessions" && self.is(b'[') {
                let mut sessions = Vec::new();
                while !self.is(b']') {
                    sessions.push(self.session()?);
                    if !self.is(b',') && self.rest.first() != Some(&b']') {
                        return None;
                    }
                }
                found = Some(sessions);
            } else {
                self.skip()?;
            }
            if !self.is(b',') {
                return found.filter(|_| self.is(b'}'));
            }
        }
    }
}

unsafe extern "C" fn content_request(host: *const Host, request: *const ContentRequest) -> i32 {
    let (host, request) = (&*host, &*request);
    let path = request.manifest_path.get();
    let manifest = match fs::read(OsStr::from_bytes(path)) {
        Ok(bytes) => bytes,
        Err(error) => return host.report(path, &error.to_string()),
    };
    let Some(sessions) = (Scanner { rest: &manifest }).catalogue() else {
        host.report(path, "the manifest isn't a list of sessions");
        return OK;
    };
    for session in sessions {
        let place = host.place(&session.id).filter(|_| !session.url.is_empty() && session.size > 0);
        let Some(place) = place else {
            host.report(&session.id, "not usable");
            continue;
        };
        if place.exists() {
            continue;
        }
        let download = Download {
            size: size_of::<Download>() as u32,
            flags: if session.essential && request.kind <= REQUEST_UPDATE { ESSENTIAL } else { 0 },
            identifier: Text::lend(&session.id),
            unique_identifier: Text::lend(b""),
            url: Text::lend(&session.url),
            http_method: Text::lend(b""),
            http_body: Text::lend(b""),
            http_headers: ptr::null(),
            http_header_count: 0,
            application_group_identifier: Text::lend(GROUP),
            file_size: session.size,
            priority: 0,
            state: 0,
            reserved: 0,
        };
        if (host.answer)(host, &download) != OK {
            host.report(&session.id, "refused by the host");
        }
    }
    OK
}

unsafe extern "C" fn download_finished(host: *const Host, download: *const Download, file: *const c_char) -> i32 {
    let (host, id) = (&*host, (*download).identifier.get());
    let Some(place) = host.place(id) else {
        return host.report(id, "there is no place for it");
    };
    if (host.acquire_exclusive_control)(host, 10_000_000_000) != OK {
        return host.report(id, "the app is busy");
    }
    let file = OsStr::from_bytes(CStr::from_ptr(file).to_bytes());
    let folder = place.parent().unwrap_or(Path::new("/"));
    let moved = fs::create_dir_all(folder).and_then(|()| fs::rename(file, &place));
    (host.release_exclusive_control)(host);
    moved.map_or_else(|error| host.report(id, &error.to_string()), |()| OK)
}

unsafe extern "C" fn download_failed(host: *const Host, download: *const Download, failure: *const Failure) -> i32 {
    let (host, mut again) = (&*host, *download);
    host.report(again.identifier.get(), &String::from_utf8_lossy((*failure).description.get()));
    // Only an essential download needs it, and the app's manifest is the host's own affair (flag 2).
    if again.flags & (ESSENTIAL | 2) != ESSENTIAL {
        return OK;
    }
    again.flags &= !ESSENTIAL;
    again.unique_identifier = Text::lend(b"");
    (host.schedule)(host, &again)
}

static ENTRY_POINTS: [EntryPoint; 3] = [
    EntryPoint {
        name: c"content_request".as_ptr(),
        signature: c"i32(pointer,pointer)".as_ptr(),
        function: content_request as *const c_void,
    },
    EntryPoint {
        name: c"download_finished".as_ptr(),
        signature: c"i32(pointer,pointer,cstring)".as_ptr(),
        function: download_finished as *const c_void,
    },
    EntryPoint {
        name: c"download_failed".as_ptr(),
        signature: c"i32(pointer,pointer,pointer)".as_ptr(),
        function: download_failed as *const c_void,
    },
];

static EXTENSION: Extension = Extension {
    size: size_of::<Extension>() as u32,
    abi_version: 1,
    name: c"packs".as_ptr(),
    entry_points: ENTRY_POINTS.as_ptr(),
    entry_point_count: ENTRY_POINTS.len(),
};

#[no_mangle]
pub extern "C" fn background_assets_extension(host_abi_version: u32) -> *const Extension {
    if host_abi_version >= 1 { &EXTENSION } else { ptr::null() }
}
