import Foundation
import TestSupport

/// A real browser with one page, told what to do in the DevTools protocol over two pipes
/// (https://chromedevtools.github.io/devtools-protocol/). One thread uses it.
final class Browser {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  static let program = "/usr/bin/chromium-headless-shell"
  /// Seconds that one command may take.
  private static let timeout = 30

  private let process = TestProcess()
  private let input = Pipe.own()
  private let output = Pipe.own()
  private let folder: String
  private var session: String?
  private var last = 0
  private var received = Data()
  /// So many bytes of it have no end of a message.
  private var seen = 0
  /// What the page asked for, from anywhere.
  private(set) var requests: [String] = []

  /// The program, or what to do where it isn't there.
  static func tool(_ path: String, of package: String) throws -> String {
    guard FileManager.default.isExecutableFile(atPath: path) else {
      throw Failure(
        description: "\(path) is missing: install the package \(package), or run Tests/install-dependencies")
    }
    return path
  }

  init() throws {
    let program = try Self.tool(Self.program, of: "chromium-headless-shell")
    folder = try LibraryTests.folder()
    // Its own sandbox needs namespaces that root and containers don't give it; it shows a page of ours and has no network to use.
    let options = [
      "--no-sandbox", "--user-data-dir='\(folder)'", "--remote-debugging-pipe", "--disable-gpu",
      "--disable-dev-shm-usage",
      "--disable-breakpad", "--hide-scrollbars", "--proxy-server=127.0.0.1:9", "about:blank",
    ]
    // The protocol's descriptors are 3 and 4. It ends where this process does: it reads the end of 3.
    let command = "exec '\(program)' \(options.joined(separator: " ")) 3<&0 4>&1 </dev/null >/dev/null 2>&1"
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", command]
    process.environment = ProcessInfo.processInfo.environment.merging(["HOME": folder]) { $1 }
    (process.standardInput, process.standardOutput, process.standardError) = (input, output, FileHandle.nullDevice)
    try process.run()
    do {
      let target = try call("Target.createTarget", ["url": "about:blank"])["targetId"] ?? ""
      session = try call("Target.attachToTarget", ["targetId": target, "flatten": true])["sessionId"] as? String
      for domain in ["Page", "Network"] { try call("\(domain).enable") }
    } catch {
      close()
      throw error
    }
  }

  /// It and its children, which are of its process group, are gone afterwards.
  func close() {
    if process.isRunning { kill(-process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    try? FileManager.default.removeItem(atPath: folder)
  }

  @discardableResult
  func call(_ method: String, _ parameters: [String: Any] = [:]) throws -> [String: Any] {
    last += 1
    var message: [String: Any] = ["id": last, "method": method, "params": parameters]
    message["sessionId"] = session
    try input.fileHandleForWriting.write(contentsOf: JSONSerialization.data(withJSONObject: message) + [0])
    while true {
      let answer = try next(method)
      if answer["method"] as? String == "Network.requestWillBeSent" {
        let request = (answer["params"] as? [String: Any])?["request"] as? [String: Any]
        requests.append(request?["url"] as? String ?? "?")
      }
      guard answer["id"] as? Int == last else { continue }
      if let error = answer["error"] { throw Failure(description: "\(method): \(error)") }
      return answer["result"] as? [String: Any] ?? [:]
    }
  }

  private func next(_ method: String) throws -> [String: Any] {
    while true {
      // Pictures are long messages: what was looked through isn't again.
      if let end = received.range(of: Data([0]), in: seen..<received.count)?.lowerBound {
        let message = received[..<end]
        received = Data(received[(end + 1)...])
        seen = 0
        return try JSONSerialization.jsonObject(with: message) as? [String: Any] ?? [:]
      }
      seen = received.count
      let handle = output.fileHandleForReading
      var wait = pollfd(fd: handle.fileDescriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, Int32(Self.timeout * 1000)) > 0 else {
        throw Failure(description: "\(method): the browser didn't answer within \(Self.timeout) s")
      }
      let part = handle.availableData
      guard !part.isEmpty else { throw Failure(description: "\(method): the browser has ended") }
      received += part
    }
  }

  /// Opens a file as a reader would, and waits until it is laid out.
  func open(_ file: String, width: Int, height: Int, scale: Int, isPhone: Bool, isDark: Bool) throws {
    try call(
      "Emulation.setDeviceMetricsOverride",
      ["width": width, "height": height, "deviceScaleFactor": scale, "mobile": isPhone])
    let scheme = ["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]
    try call("Emulation.setEmulatedMedia", ["media": "", "features": [scheme]])
    try call("Page.navigate", ["url": "file://\(file)"])
    let state =
      "new Promise(done => { const look = () => document.readyState == 'complete' && document.querySelector('h1') "
      + "? requestAnimationFrame(() => done(true)) : setTimeout(look, 5); look() })"
    _ = try evaluate(Bool.self, state)
  }

  /// What an expression of the page, or the promise that it is, comes to. What the page itself may run isn't asked.
  func evaluate<Value: Decodable>(_ type: Value.Type, _ expression: String) throws -> Value {
    let answer = try call(
      "Runtime.evaluate",
      [
        "expression": "Promise.resolve(\(expression)).then(JSON.stringify)", "awaitPromise": true,
        "returnByValue": true,
      ])
    if let details = answer["exceptionDetails"] { throw Failure(description: "\(details)") }
    let text = (answer["result"] as? [String: Any])?["value"] as? String ?? ""
    return try JSONDecoder().decode(type, from: Data(text.utf8))
  }

  /// The whole page as it is painted, as PNG.
  func screenshot() throws -> Data {
    let answer = try call("Page.captureScreenshot", ["format": "png", "captureBeyondViewport": true])
    return Data(base64Encoded: answer["data"] as? String ?? "") ?? Data()
  }

  /// The colours of a screenshot at these places. The browser decodes its picture, on a page of its own.
  func colours(of png: Data, at places: [[Int]]) throws -> [Picture.Colour] {
    try call("Page.navigate", ["url": "about:blank"])
    return try evaluate(
      [Picture.Colour].self,
      """
      new Promise((done, failed) => {
        const image = new Image();
        image.onerror = () => failed('no picture');
        image.onload = () => {
          const canvas = document.createElement('canvas');
          [canvas.width, canvas.height] = [image.width, image.height];
          const context = canvas.getContext('2d', {willReadFrequently: true});
          context.drawImage(image, 0, 0);
          done(\(places).map(([x, y]) => {
            const [red, green, blue] = context.getImageData(x, y, 1, 1).data;
            return {red, green, blue};
          }));
        };
        image.src = 'data:image/png;base64,\(png.base64EncodedString())';
      })
      """)
  }

  /// On A4, with what a browser prints unasked: without backgrounds.
  func pdf() throws -> Data {
    let answer = try call("Page.printToPDF", ["printBackground": false, "paperWidth": 8.27, "paperHeight": 11.69])
    return Data(base64Encoded: answer["data"] as? String ?? "") ?? Data()
  }
}
