import Basics
import HostProtocol
import Testing

@testable import PluginHost

/// What the report of `--observe` calls refused.
@Suite(.timeLimit(.minutes(1))) struct FileViewTests {
  private static let links = [
    "/lib": "usr/lib", "/lib64": "/usr/lib64", "/usr/lib64": "lib", "/etc/localtime": "../usr/share/zoneinfo/UTC",
    "/usr/lib/out": "/etc/alternatives/out", "/usr/lib/in": "real/file", "/srv/data/up": "..",
  ]

  private func view(
    hidesFiles: Bool = true, hasLandlock: Bool = true, inside: Set<String> = [], ownLinks: [String: String] = [:]
  ) -> FileView {
    FileView(
      shown: ["/bundle", "/container", "/tmp", "/manifest"] + RunnerView.runtime + RunnerView.devices + ["/srv/data"],
      executable: ["/bundle"] + RunnerView.runtime + ["/srv/data/bin"],
      withoutExecution: ["/container", "/manifest"],
      temporary: hidesFiles ? "/tmp" : nil, hidesFiles: hidesFiles, hasLandlock: hasLandlock,
      disk: .init(
        link: { Self.links[$0] }, ownLink: { ownLinks[$0] },
        isOnMachine: { ["/tmp/secret", "/tmp/both"].contains($0) }, isInside: inside.contains))
  }

  @Test(
    "in a root of its own, what a plugin doesn't see is refused",
    arguments: [
      ("/usr/lib/libz.so.1", false), ("/lib/libz.so.1", false), ("/lib64/ld.so", false), ("/etc/localtime", false),
      ("/usr/share/dict/words", true), ("/usr/bin/env", true), ("/usr", true), ("/", true),
      ("/usr/lib/../bin/env", true),
      ("/usr/lib/out", true), ("/usr/lib/in", false), ("/etc/shadow", true), ("/lib/../etc/shadow", true),
      ("/dev/null", false), ("/dev/zero", true), ("/proc/self/maps", true), ("/bundle/a", false), ("/bundler/a", true),
      ("/container/../etc/passwd", true), ("/srv/data/x", false), ("/srv/data/up/other", true), ("/srv/data2", true),
      ("/tmp/secret", true), ("/tmp/both", false), ("/tmp/neither", false), ("/tmp/./x/../secret", true),
    ])
  func opening(path: String, isRefused: Bool) {
    let view = view(inside: ["/tmp/both"])
    #expect(view.refuses(path, to: "openat") == isRefused)
  }

  /// Everything that is asked for is on the machine; what lies in what is shown is in the plugin's root, too.
  private static func granted(isThere: Bool = true) -> FileView {
    FileView(
      shown: ["/container", "/srv/file", "/srv/folder", "/srv/read"],
      writable: ["/container", "/srv/file", "/srv/folder"],
      temporary: nil, hidesFiles: true, hasLandlock: true,
      disk: .init(
        isOnMachine: { _ in isThere },
        isInside: { path in ["/container", "/srv"].contains { path.lies(in: $0) } && path != "/srv/hidden" }))
  }

  @Test(
    "what is granted by itself can't be moved, replaced or removed, and what lies in it can",
    arguments: [
      ("unlink", "/srv/file", true), ("unlinkat", "/srv/file", true), ("rename", "/srv/file", true),
      ("renameat2", "/srv/folder", true), ("rmdir", "/srv/folder", true), ("unlink", "/srv/folder/x", false),
      ("rename", "/srv/folder/x", false), ("truncate", "/srv/file", false), ("chmod", "/srv/file", false),
      ("unlink", "/container/x", false), ("rmdir", "/container", false), ("rename", "/srv/read", true),
    ])
  func mountPoints(call: String, path: String, isRefused: Bool) {
    #expect((Self.granted().refusesChange(path, by: call, flags: nil) != nil) == isRefused)
  }

  @Test("to make a folder or a link that the plugin sees is told, and not refused", arguments: ["mkdir", "symlinkat"])
  func newcomers(call: String) {
    #expect(!Self.granted().refuses("/srv", to: call))
    #expect(Self.granted().refuses("/srv/hidden", to: call))
    #expect(Self.granted().refuses("/srv/hidden", to: "link"))
    #expect(Self.granted().refuses("/etc", to: "rename"))
  }

  @Test(
    "what takes a file that isn't there, or makes one that is, would have changed nothing",
    arguments: [
      ("unlink", nil, true), ("rmdir", nil, true), ("truncate", nil, true), ("utimensat", nil, true),
      ("chmod", nil, true),
      ("mkdir", nil, false), ("symlink", nil, false), ("creat", 0, nil), ("openat", 0o1, true), ("openat", 0o101, nil),
      ("openat", 0o301, false), ("openat", 0o1001, true),
    ] as [(String, UInt64?, Bool?)])
  func wouldChange(call: String, flags: UInt64?, whereThere: Bool?) {
    for isThere in [true, false] {
      // nil: in either case.
      let wanted = whereThere.map { $0 == isThere } ?? true
      let view = Self.granted(isThere: isThere)
      #expect(view.wouldChange("/etc/x", by: call, flags: flags) == wanted, "\(isThere)")
    }
  }

  @Test("a file that isn't there can't be moved or linked, and one that is can have a new name")
  func moves() {
    let (there, absent) = (Self.granted(), Self.granted(isThere: false))
    for call in ["rename", "renameat2", "link", "linkat"] {
      #expect(there.wouldChange("/etc/x", by: call, flags: nil))
      #expect(!absent.wouldChange("/etc/x", by: call, flags: nil))
      // From the plugin's own, from what is on the machine, and from nowhere.
      #expect(absent.wouldChange("/etc/x", by: call, flags: nil, to: "/container/x"))
      #expect(!absent.wouldChange("/etc/x", by: call, flags: nil, to: "/etc/y"))
      #expect(there.wouldChange("/etc/x", by: call, flags: nil, to: "/etc/y") == call.hasPrefix("rename"))
    }
    #expect(!there.wouldChange("/etc/x", by: "stat", flags: nil))
    #expect(!there.wouldChange("/etc/x", by: "openat", flags: 0))
  }

  @Test(
    "what it sees and may not map as code isn't executed",
    arguments: [
      ("/bundle/tool", false), ("/usr/lib/tool", false), ("/lib/ld.so", false), ("/srv/data/bin/x", false),
      ("/srv/data/x", true), ("/srv/data/binary", true), ("/container/x", true), ("/tmp/x", true),
      ("/usr/bin/env", true),
      ("/dev/null", true), ("/bundle/../container/x", true),
    ])
  func execution(path: String, isRefused: Bool) { #expect(view().refuses(path, to: "execve") == isRefused) }

  @Test(
    "code is refused of what is mounted without execution, and of nothing else",
    arguments: [
      ("/container/x", true), ("/manifest", true), ("/srv/data/x", false), ("/tmp/x", false), ("/bundle/x", false),
      ("/containers/x", false), ("/usr/bin/env", false),
    ])
  func mapping(path: String, isRefused: Bool) {
    #expect(view().refusesCode(path) == isRefused)
    #expect(!view(hidesFiles: false).refusesCode(path))
  }

  @Test(
    "a link in a folder of the plugin's own is reported as what it leads to",
    arguments: [
      ("/container/out", true, "/etc/shadow"), ("/container/out", false, "/container/out"),
      ("/container/folder/passwd", false, "/etc/passwd"), ("/container/./folder/../x", true, "/x"),
      ("/container/chain", true, "/etc/shadow"), ("/container/a/b", true, "/container/a/b"),
      ("/container/loop", true, "/container/loop"), ("/container/up/etc/x", true, "/etc/x"),
      ("/container/long", true, "/container/long"), ("/container/again", true, "/container/again"),
      ("/usr/lib/out", true, "/usr/lib/out"), ("/tmp/inside/y", true, "/container/y"),
    ])
  func ownLinks(path: String, followsLast: Bool, destination: String) {
    let links = [
      "/container/out": "/etc/shadow", "/container/folder": "/etc", "/container/chain": "./out",
      "/container/loop": "loop", "/container/up": "..", "/tmp/inside": "/container", "/usr/lib/out": "/never",
      "/container/long": String(repeating: "a/", count: 500),
    ]
    #expect(view(ownLinks: links).destination(of: path, followsLast: followsLast) == destination)
    #expect(
      view(hidesFiles: false, ownLinks: links).destination(of: path, followsLast: followsLast) == path,
      "without a root of its own its folders are the machine's")
  }

  @Test("a folder on the way to what is shown can be looked at, not opened") func waysThere() {
    for path in ["/", "/usr", "/etc", "/dev", "/srv", "/usr/share"] {
      #expect(!view().refuses(path, to: "newfstatat") && view().refuses(path, to: "open"), "\(path)")
      #expect(!view(hasLandlock: false).refuses(path, to: "open"), "\(path)")
    }
    #expect(view().refuses("/usr/share/dict", to: "stat") && view().refuses("/home", to: "access"))
  }

  @Test(
    "what a call makes in the plugin's own folder is refused by no wall", arguments: ["mkdir", "rename", "symlinkat"])
  func making(call: String) {
    #expect(!view().refuses("/tmp/secret", to: call) && !view().refuses("/tmp/secret", to: "openat", makesFile: true))
    #expect(view().refuses("/etc/x", to: call) && view().refuses("/etc/x", to: "openat", makesFile: true))
  }

  @Test(
    "in a folder that is listed, what a link leads to decides, and the folders above are there",
    arguments: [
      ("/srv/names/shown", "openat", true, false), ("/srv/names/shown", "newfstatat", true, false),
      ("/srv/names/hidden", "openat", true, true), ("/srv/names/hidden", "newfstatat", true, true),
      ("/srv/names/hidden", "newfstatat", false, false), ("/srv/names/hidden", "readlinkat", false, false),
      ("/srv/names/gone", "access", true, false), ("/srv/names/file", "openat", true, true),
      ("/srv/names/file", "newfstatat", true, false), ("/srv", "newfstatat", true, false),
      ("/srv", "openat", true, true), ("/srv/others", "newfstatat", true, true),
    ])
  func listed(path: String, call: String, followsLast: Bool, isRefused: Bool) {
    let links = [
      "/srv/names/shown": "../data/x", "/srv/names/hidden": "/etc/shadow", "/srv/names/gone": "nothing/here",
    ]
    let view = FileView(
      shown: RunnerView.runtime + ["/srv/data/x"], listed: ["/srv/names"], temporary: "/tmp", hidesFiles: true,
      hasLandlock: true, disk: .init(link: { links[$0] }, isOnMachine: { _ in false }, isInside: { _ in true }))
    #expect(view.refuses(path, to: call, followsLast: followsLast) == isRefused)
  }

  @Test("links that every view has are read, and followed to what they lead to", arguments: ["/lib", "/etc/localtime"])
  func ownLinksOfTheView(path: String) {
    #expect(!view().refuses(path, to: "readlinkat", followsLast: false))
    #expect(!view().refuses(path, to: "newfstatat") && !view().refuses(path, to: "openat"))
    #expect(view().refuses(path + "2", to: "readlinkat", followsLast: false))
  }

  @Test("without a mount namespace Landlock refuses to open and lets everything be looked at") func landlockAlone() {
    let view = view(hidesFiles: false)
    #expect(view.refuses("/etc/shadow", to: "open") && !view.refuses("/etc/shadow", to: "stat"))
    #expect(!view.refuses("/etc/localtime", to: "open") && !view.refuses("/tmp/secret", to: "open"))
    let open = self.view(hidesFiles: false, hasLandlock: false)
    #expect(!open.refuses("/etc/shadow", to: "open"))
  }

  @Test(
    "what is shown read-only is refused to a call that would change it, and the runtime as a whole",
    arguments: [
      ("/srv/data/x", "openat", 1, "/srv/data/x"), ("/srv/data/x", "openat", 0, nil),
      ("/srv/data/x", "openat", 2, "/srv/data/x"),
      ("/srv/data/x", "openat", 0o1000, "/srv/data/x"), ("/srv/data/x", "openat", 0o101, "/srv/data/x"),
      // There already, and a folder: the kernel says so first.
      ("/srv/data/x", "openat", 0o301, nil), ("/srv/data", "openat", 1, nil), ("/srv/data/x", "openat", 0o100, nil),
      ("/srv/data", "openat", 0o20200002, "/srv/data"),
      ("/srv/data/new", "openat", 0o101, "/srv/data/new"), ("/srv/data/new", "openat", 1, nil),
      ("/srv/data/no/new", "openat", 0o101, nil), ("/srv/data/x", "creat", 0, "/srv/data/x"),
      ("/srv/data/new", "mkdir", nil, "/srv/data/new"), ("/srv/data/x", "mkdir", nil, nil),
      ("/srv/data/x", "unlink", nil, "/srv/data/x"), ("/srv/data/x", "rename", nil, "/srv/data/x"),
      ("/srv/data/new", "rename", nil, "/srv/data/new"), ("/srv/data/x", "truncate", nil, "/srv/data/x"),
      ("/srv/data/new", "truncate", nil, nil), ("/srv/data/x", "utimensat", nil, "/srv/data/x"),
      ("/srv/data/x", "stat", nil, nil), ("/srv/data/w/x", "openat", 0o101, nil),
      ("/container/x", "openat", 0o101, nil),
      ("/dev/null", "openat", 1, nil), ("/dev/null", "utimensat", nil, "/dev/null"),
      ("/bundle/x", "openat", 0o101, "/bundle/x"),
      ("/usr/lib/p/x.pyc", "openat", 0o301, "/usr/lib"), ("/lib/p/y.pyc", "openat", 0o301, "/usr/lib"),
      ("/etc/shadow", "openat", 1, nil),
    ] as [(String, String, UInt64?, String?)])
  func changing(path: String, call: String, flags: UInt64?, reported: String?) {
    let view = viewOfData
    #expect(view.refusesChange(path, by: call, flags: flags) == reported)
  }

  @Test(
    "who asks whether what is shown read-only may be written is told that it may not, if it is there",
    arguments: [
      ("/srv/data/x", "/srv/data/x"), ("/srv/data", "/srv/data"), ("/srv/data/new", nil), ("/srv/data/w/x", nil),
      ("/container/x", nil), ("/dev/null", nil), ("/usr/lib/p", "/usr/lib"), ("/etc/shadow", nil),
    ] as [(String, String?)])
  func asking(path: String, reported: String?) {
    #expect(viewOfData.refusesChange(path, by: "access", flags: nil, asks: true) == reported)
    #expect(viewOfData.refusesChange(path, by: "access", flags: nil) == nil)
  }

  private var viewOfData: FileView {
    var view = view(inside: [
      "/srv/data", "/srv/data/x", "/srv/data/w", "/bundle", "/container", "/usr/lib/p", "/dev/null",
    ])
    view = FileView(
      shown: view.shown + ["/srv/data/w"], writable: ["/container", "/tmp", "/srv/data/w"],
      devices: RunnerView.devices, runtime: RunnerView.runtime, temporary: view.temporary, hidesFiles: true,
      hasLandlock: true,
      disk: .init(
        link: view.disk.link, isOnMachine: view.disk.isOnMachine, isInside: view.disk.isInside,
        isFolder: { $0 == "/srv/data" }))
    return view
  }

  @Test(
    "a folder before '..' that isn't shown is missing on the way, and a link in its place is told as one",
    arguments: [
      ("/srv/s/../data/x", "/srv/s", false), ("/srv/./s//t/../../data/x", "/srv/s/t", false),
      ("/srv/link/../data/x", "/srv/link", true), ("/srv/link/t/../../data/x", "/srv/link", true),
      ("/home/../srv/data/x", "/home", false), ("/srv/data/up/../data/x", nil, false),
      ("/srv/data/none/../x", nil, false), ("/srv/../srv/data/x", nil, false), ("/../srv/data/x", nil, false),
      ("/lib/x/../../lib/y", nil, false), ("/container/a/../../srv/data/x", nil, false), ("/srv/s/data", nil, false),
      ("/tmp/secret/../x", "/tmp/secret", false),
    ] as [(String, String?, Bool)])
  func missing(path: String, folder: String?, isLink: Bool) {
    let links = Self.links.merging(["/srv/link": "/srv/s/t"]) { $1 }
    func view(hidesFiles: Bool) -> FileView {
      FileView(
        shown: ["/container", "/tmp"] + RunnerView.runtime + ["/srv/data"], temporary: "/tmp", hidesFiles: hidesFiles,
        hasLandlock: true,
        disk: .init(link: { links[$0] }, isOnMachine: { $0 == "/tmp/secret" }, isInside: { _ in false }))
    }
    let found = view(hidesFiles: true).missing(on: path)
    #expect(found?.path == folder && found?.isLink ?? false == isLink, "\(String(describing: found))")
    #expect(view(hidesFiles: false).missing(on: path) == nil, "Landlock lets everything be passed through")
  }

  @Test("what holds a folder before '..' is used, and so isn't taken away") func holdersOnTheWay() {
    let view = FileView(
      shown: ["/srv/data"], listed: ["/srv/s"], temporary: "/tmp", hidesFiles: true, hasLandlock: true,
      disk: .init(link: { _ in nil }, isOnMachine: { _ in true }, isInside: { _ in true }))
    #expect(view.holdersOnTheWay(to: "/srv/s/t/../../data/x") == ["/srv/s", "/srv/s"])
    #expect(view.missing(on: "/srv/s/../data/x") == nil && view.holdersOnTheWay(to: "/srv/data/x").isEmpty)
  }

  @Test("a name of thousands of parts is decided without looking at its links") func longNames() {
    let long = "/usr/lib" + String(repeating: "/in/..", count: 600)
    #expect(!view().refuses(long + "/x", to: "open") && view().refuses(long + "/../../etc", to: "open"))
  }
}

/// What a policy can't grant as a whole.
@Suite(.timeLimit(.minutes(1))) struct RevealingFolderTests {
  @Test(
    "devices and processes are refused, files among them aren't",
    arguments: [
      ("/dev", true), ("/proc", true), ("/proc/1", true), ("/proc/4711/fd", true), ("/proc/cpuinfo", false),
      ("/proc/sys/kernel", false), ("/dev/shm", false), ("/device", false), ("/process", false), ("/srv/proc", false),
      ("/proc/1x", false), ("/proc/self", true), ("/proc/self/status", true), ("/proc/thread-self/comm", true),
      ("/dev/pts", true), ("/dev/pts/0", false),
    ])
  func folders(path: String, isRefused: Bool) {
    #expect((RevealingFolder.rejectionReason(forReal: path) != nil) == isRefused)
  }

  @Test(
    "what leads to something of a process is refused by each name on the way",
    arguments: [
      ("/dev/stdin", "leads to /proc/self/fd/0, which shows"), ("/dev/fd/7", "leads to /proc/self/fd/7, which shows"),
      ("/proc/self/fd/7", "shows what"), ("/srv/in", "leads to /dev/stdin"), ("/srv/cpu", nil), ("/srv/in/..", nil),
    ] as [(String, String?)])
  func hops(path: String, words: String?) {
    let links = [
      "/dev/stdin": "/proc/self/fd/0", "/dev/fd": "/proc/self/fd", "/proc/self": "17", "/srv/in": "/dev/stdin",
      "/srv/cpu": "/proc/cpuinfo", "/proc/17/fd/0": "/etc/hosts", "/proc/17/fd/7": "pipe:[1]",
    ]
    let reason = RevealingFolder.rejectionReason(for: path, hops: LinkHops.all(from: path) { links[$0] })
    #expect(
      reason?.hasPrefix(words == "leads to /dev/stdin" ? "leads to /proc/self/fd/0" : words ?? "-") ?? (words == nil))
  }

  @Test("to open a folder for writing changes nothing but for a file without a name") func foldersForWriting() {
    for (flags, changes) in [(0o2, false), (0o1, false), (0o1002, false), (0o20_200_002, true)] as [(UInt64, Bool)] {
      for isFolder in [false, true] {
        let view = FileView(
          shown: [], temporary: nil, hidesFiles: true, hasLandlock: true,
          disk: .init(
            isOnMachine: { _ in true }, isFolderOnMachine: { _ in isFolder }, isInside: { _ in false }))
        #expect(
          view.wouldChange("/etc/x", by: "openat", flags: flags) == (changes || !isFolder), "\(flags) \(isFolder)")
      }
    }
  }
}
