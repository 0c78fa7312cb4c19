import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct CTypeWordsTests {
  private static let int = CType.base("int", size: 4, encoding: 5)
  private static let function = CType.function("void (int)")
  private static let row = CType.array(int, count: 3)

  @Test(
    "a type stands around the name that it declares, as in C, and without one it is the type alone",
    arguments: [
      (int, "int a", "int"), (.pointer(int), "int *a", "int *"), (.pointer(.pointer(int)), "int **a", "int **"),
      (.pointer(.constant(int)), "const int *a", "const int *"),
      (.constant(.pointer(int)), "int *const a", "int *const"),
      (.pointer(.constant(.pointer(int))), "int *const *a", "int *const *"),
      (row, "int a[3]", "int[3]"), (.array(row, count: 2), "int a[2][3]", "int[2][3]"),
      (.array(.pointer(int), count: 3), "int *a[3]", "int *[3]"), (.pointer(row), "int (*a)[3]", "int (*)[3]"),
      (.pointer(.constant(row)), "const int (*a)[3]", "const int (*)[3]"),
      (.pointer(function), "void (*a)(int)", "void (*)(int)"),
      (.constant(.pointer(function)), "void (*const a)(int)", "void (*const)(int)"),
      (.pointer(.pointer(function)), "void (**a)(int)", "void (**)(int)"),
      (.array(.pointer(function), count: 2), "void (*a[2])(int)", "void (*[2])(int)"),
      (.pointer(.function("char *(void)")), "char *(*a)(void)", "char *(*)(void)"),
      (.pointer(.function("void (*(int))(char)")), "void (*(*a)(int))(char)", "void (*(*)(int))(char)"),
      (.pointer(.named("row", row)), "row *a", "row *"), (.pointer(.named("fn", function)), "fn *a", "fn *"),
      (.record("struct s"), "struct s a", "struct s"), (.base("", size: 1, encoding: 5), "? a", "?"),
    ] as [(CType, String, String)])
  func declarations(type: CType, declared: String, words: String) {
    #expect(type.declared("a") == declared && type.words == words)
  }

  @Test("a function that returns a function's address is declared around its own parameters") func results() {
    let handler = CType.pointer(Self.function)
    let function = CFunction(
      result: handler, parameters: [.init(name: "sig", type: Self.int), .init(name: "", type: handler)],
      isVariadic: false)
    #expect(function.prototype(of: "signal") == "void (*signal(int sig, void (*)(int)))(int)")
  }
}
