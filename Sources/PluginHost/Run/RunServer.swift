/// The fork server that made a run, and whether its next word of the run is due. Loop thread only.
struct RunServer {
  weak var client: ForkServerClient?
  var silence = ServerSilence()

  var lease: Lease? { client?.lease }
}
