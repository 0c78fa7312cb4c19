internal import ArgumentParser
internal import AssetService
internal import Foundation

struct SimulateFleetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fleet",
    abstract: "Simulates many machines and the one origin of their app, which goes away for an hour.",
    usage: "outrider simulate fleet [<options>]",
    discussion: """
      Counts the requests that reach the origin: manifests, files and their retries; with the jitter that the service has, \
      and without. Peaks are of a minute; a small fleet has high ones by mere chance.

      EXAMPLE
        outrider simulate fleet --machines 100000 --svg fleet.svg
      """)

  @Option(help: "Machines, 1 to 1000000.") var machines = 100_000
  @Option(help: "Seed of everything that happens by chance.") var seed: UInt64 = 1
  @Option(help: ArgumentHelp("Write the requests over time as a picture.", valueName: "file"), completion: .file())
  var svg: String?
  @Flag(help: "Print one JSON object.") var json = false

  func validate() throws {
    guard (1...1_000_000).contains(machines) else {
      throw ValidationError("--machines is \(machines); 1 to 1000000 can be simulated.")
    }
  }

  func run() {
    do {
      let report = Fleet.report(machines: machines, seed: seed)
      if let svg { try write(ArrivalPlot(report).svg, to: svg) }
      if json { try Output.json(report) } else { print(report) }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }

  private func write(_ picture: String, to path: String) throws {
    try OutputFile.write(picture, to: path, option: "--svg")
  }

  private func print(_ report: FleetReport) {
    Output.line(
      "\(machines) machines, \(String(format: "%.1f", report.days)) days, seed \(seed); the origin is away for an hour")
    for variant in report.variants {
      Output.line(variant.isSpread ? "With jitter" : "Without jitter")
      line("steady day", variant.steady)
      line("without origin", variant.outage)
      line("day afterwards", variant.afterOutage)
      Output.line(
        "  \(variant.wakes) wakes, \(variant.manifestRequests) requests for manifests and \(variant.fileRequests) for files, of them \(variant.retries) retries"
      )
      let served =
        variant.unservedMachines == 0
        ? "all were served \(Self.time(variant.secondsUntilAllServed)) after its return"
        : "\(variant.unservedMachines) weren't served a day after its return"
      Output.line("  \(variant.concernedMachines) machines met the absence; \(served)")
    }
  }

  private func line(_ name: String, _ load: FleetReport.Load) {
    let figures = String(
      format: "mean %.2f/s, peak %.2f/s, peak over mean %.2f", load.mean, load.peak, load.peakOverMean)
    Output.line("  \(name): \(figures)")
  }

  private static func time(_ seconds: Double) -> String {
    "\(Int(seconds) / 3600) h \(Int(seconds) / 60 % 60) min"
  }
}
