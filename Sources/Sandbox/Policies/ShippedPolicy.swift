/// The policies that come with the host, by the names under which `extends` and `--policy` find them.
public enum ShippedPolicy: String, Sendable, CaseIterable {
  case downloader, computation, codec, interpreter, developer

  /// The file's text, to be read or copied.
  public var text: String {
    switch self {
    case .downloader: Self.downloaderText
    case .computation: Self.computationText
    case .codec: Self.codecText
    case .interpreter: Self.interpreterText
    case .developer: Self.developerText
    }
  }

  private static let downloaderText = """
    # What every extension has that isn't given a policy of its own. It says only what holds by default,
    # so that you see where to begin.
    version: 2

    # A plugin always reads its own files, the manifest and the runtime (/usr/lib and the like).
    # What is listed under 'write' is all that it may change: its container and its scratch folder.
    files:
      read: [$BUNDLE, $MANIFEST, $RUNTIME]
      write: [$CONTAINER, $TMP]

    # Harmless ones: what is written to them is gone, what is read is zeros or random bytes.
    devices: [null, full, random, urandom]

    # An extension names downloads, and the host fetches them. It needs no network of its own, and no processes.
    network: none
    processes: none

    # Code is what was mapped while the extension was loaded. Later a flaw in it can bring in none.
    executableMemory: loading

    # For one call. What exceeds wall, cpu or memory is ended; the others fail as the kernel fails them.
    limits: {wall: 30s, cpu: 10s, memory: 8MiB, openFiles: 256, fileSize: 1GiB, threads: 64, logBytes: 256KiB}

    """

  private static let computationText = """
    # Pure functions: checksums, compression, parsing, arithmetic on bytes that you hand over. They need
    # no files and no threads, so that anything of the kind is a sign of something wrong.
    version: 2

    files:
      # Nothing can be written, not even the scratch folder.
      write: []

    # A function of its arguments needs no random numbers either. One that asks fails to open the device.
    devices: []

    systemCalls:
      # These fail: a library that merely tries goes on without.
      deny: [fileChanges, newThreads, timers, signalling, priorities]
      # These end the run with policyViolation: no computation tries them by mistake.
      kill: [programs, debugging, namespaces, identity, socket]

    executableMemory: loading

    limits: {wall: 5s, cpu: 5s, memory: 16MiB, openFiles: 32, fileSize: 1MiB, threads: 0}

    # A machine without these can't keep what is promised here, so that nothing runs on it.
    require: [seccomp]

    """

  private static let codecText = """
    # Media and document libraries: decoders, converters, renderers. They read data files of their own,
    # use every core, and need memory for whole images.
    version: 2
    extends: downloader

    files:
      read:
        # Which kinds of files there are, fonts, and the settings of fontconfig and ImageMagick.
        # 'missing: skip': not every machine has them, and the libraries do without.
        - {path: /usr/share/mime, missing: skip}
        - {path: /etc/magic, missing: skip}
        - {path: "/usr/share/misc/magic*", missing: skip}
        - {path: /usr/share/fonts, missing: skip}
        - {path: /usr/share/fontconfig, missing: skip}
        - {path: /etc/fonts, missing: skip}
        - {path: "/usr/share/ImageMagick-*", missing: skip}
        - {path: "/etc/ImageMagick-*", missing: skip}
        # How many cores there are, which decides about the number of threads.
        - {path: /sys/devices/system/cpu, missing: skip}

    # Coders are libraries that are opened when a file needs them: those of the system, and of the bundle.
    executableMemory: later

    limits: {wall: 2m, cpu: 4m, memory: 512MiB, threads: 256}

    """

  private static let interpreterText = """
    # Embedded Python, Lua or JavaScript. Scripts bring in modules while they run, some of them in C.
    version: 2
    extends: downloader

    files:
      read:
        # Modules that aren't below /usr/lib, and the settings of Debian's Python.
        - {path: "/etc/python3*", missing: skip}
        - {path: "/usr/share/python3*", missing: skip}
        - {path: /usr/share/lua, missing: skip}
        - {path: /usr/share/nodejs, missing: skip}
        - {path: /usr/share/locale/locale.alias, missing: skip}

    # Modules in C are libraries that are opened by 'import'. An interpreter with a just-in-time compiler
    # needs 'jit' in the place of 'later', which lets a flaw in it run what it wrote.
    executableMemory: later

    limits: {wall: 60s, cpu: 60s, memory: 64MiB, threads: 64}

    """

  private static let developerText = """
    # For plugins that you are writing: room to debug in, and every denied path in the report. The walls
    # are the same, since a plugin that works here has to work under 'downloader' in the end.
    version: 2
    extends: downloader

    # As your terminal has them.
    environment: [LANG, LC_ALL, LC_MESSAGES, TERM, NO_COLOR]

    # Every path that is named and not granted is recorded; it costs some 10 microseconds each.
    observe: true

    executableMemory: later

    limits: {wall: 10m, cpu: 10m, memory: 1GiB, threads: 256, logBytes: 16MiB}

    """
}
