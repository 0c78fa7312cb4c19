import CLinux
import Glibc
import Testing

/// The functions that a plugin is given to call.
@Suite(.serialized, .timeLimit(.minutes(1))) struct CallbackEntryTests {
  @Test("each entry says its number, and passes what the calling convention puts where") func entries() throws {
    ol_set_callback_handler { number, call, _ in
      let call = UnsafeMutablePointer(call)
      let general = withUnsafeBytes(of: call.pointee.general) { Array($0.bindMemory(to: UInt64.self)) }
      let vector = withUnsafeBytes(of: call.pointee.vector) { Array($0.bindMemory(to: UInt64.self)) }
      let sum =
        general.reduce(0, +) + call.pointee.stack[0]
        + vector.reduce(0) { $0 + UInt64(Double(bitPattern: $1)) } + UInt64(Double(bitPattern: call.pointee.stack[1]))
      call.pointee.result = UInt64(number) << 32 | sum
    }
    typealias Function =
      @convention(c) (
        Int64, Int64, Int64, Int64, Int64, Int64, Double, Double, Double, Double, Double, Double, Double, Double, Int64,
        Double
      ) -> UInt64
    for number in 0..<UInt32(OL_CALLBACKS) {
      let entry = try #require(ol_callback(number))
      let function = unsafeBitCast(entry, to: Function.self)
      let result = function(1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60, 70, 80, 7, 90)
      #expect(result == UInt64(number) << 32 | (28 + 450))
    }
    #expect(ol_callback(UInt32(OL_CALLBACKS)) == nil)
    #expect(ol_callback(.max) == nil)
  }

  @Test("a float is returned where floats are, and errno stays") func results() throws {
    ol_set_callback_handler { _, call, _ in
      close(-1)
      call.pointee.result = 2.5.bitPattern
    }
    let function = unsafeBitCast(try #require(ol_callback(3)), to: (@convention(c) () -> Double).self)
    errno = 7
    let result = function()
    let after = errno
    #expect(result == 2.5)
    #expect(after == 7)
  }

  @Test("one that is called while one is under way on its thread is told so, and the next one isn't") func reentered()
    throws
  {
    ol_set_callback_handler { number, call, isReentered in
      if number == 5, let inner = ol_callback(6) {
        let function = unsafeBitCast(inner, to: (@convention(c) () -> UInt64).self)
        call.pointee.result = UInt64(isReentered) << 1 | function()
      } else {
        call.pointee.result = UInt64(isReentered)
      }
    }
    let function = unsafeBitCast(try #require(ol_callback(5)), to: (@convention(c) () -> UInt64).self)
    for _ in 0..<2 { #expect(function() == 0b01) }
  }
}
