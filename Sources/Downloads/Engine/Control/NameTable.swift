/// Numbers for names, so that a hundred thousand jobs don't each keep their own.
struct NameTable {
  private var numbers: [String: UInt32] = [:]
  private(set) var names: [String] = []

  mutating func number(of name: String) -> UInt32 {
    if let number = numbers[name] { return number }
    let number = UInt32(names.count)
    names.append(name)
    numbers[name] = number
    return number
  }
}
