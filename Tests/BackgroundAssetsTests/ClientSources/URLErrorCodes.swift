import BackgroundAssets

@main struct URLErrorCodes {
  static func main() {
    let a: URLError.Code = URLError.Code(rawValue: -1001)
    let b = URLError.Code(rawValue: NSURLErrorTimedOut)
    if URLError.Code(rawValue: -1009) == .notConnectedToInternet { print("offline") }
    switch URLError.Code(rawValue: -999) {
    case .cancelled: print("cancelled")
    default: print("?")
    }
    let e = URLError(URLError.Code(rawValue: -1011))
    let c: URLError.Code? = URLError.Code(rawValue: -424242)
    let d: URLError.Code? = .init(rawValue: -424242)
    print(a, b as Any, e.code, c as Any, d as Any, e.errorCode, (e as NSError).code)
  }
}
