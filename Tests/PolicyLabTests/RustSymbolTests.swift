import Basics
import Foundation
import TestSupport
import Testing

@testable import PolicyLab

@Suite(.timeLimit(.minutes(1))) struct RustSymbolTests {
  /// As rustc 1.95 made them of its own library, and binutils' c++filt reads them.
  private static let names = [
    ("_RNvCs1234_7mycrate3foo", "mycrate::foo"),
    (
      "_RNvMNtNtNtNtCsjrHSEGnQ3l9_3std12backtrace_rs9symbolize5gimli5stashNtB2_5Stash8allocate",
      "<std::backtrace_rs::symbolize::gimli::stash::Stash>::allocate"
    ),
    (
      "_RNvXs1g_NtCsgEmfK2I1SDS_4core3fmtRNtNtNtB8_3num5error12IntErrorKindNtB6_5Debug3fmtCsgY6Mt91CT9J_14rustc_demangle",
      "<&core::num::error::IntErrorKind as core::fmt::Debug>::fmt"
    ),
    (
      "_RINvNtCsjrHSEGnQ3l9_3std2io19default_read_to_endRNtNtB4_2fs4FileEB4_",
      "std::io::default_read_to_end::<&std::fs::File>"
    ),
    (
      "_RINvNtCsgEmfK2I1SDS_4core3ptr13drop_in_placeINtNtCslNYArtu3iFV_5alloc5boxed3BoxDG0_INtNtNtB4_3ops8function2FnTRL1_INtNtCsjrHSEGnQ3l9_3std5panic13PanicHookInfoL0_EEEp6OutputuNtNtB4_6marker4SyncNtB2N_4SendEL_EEB1T_",
      "core::ptr::drop_in_place::<alloc::boxed::Box<dyn for<'a, 'b> core::ops::function::Fn<(&'a std::panic::PanicHookInfo<'b>,), Output = ()> + core::marker::Sync + core::marker::Send>>"
    ),
    (
      "_RNSNvYNCNCNvNtNtCsjrHSEGnQ3l9_3std3sys9backtrace10__print_fmts_00INtNtNtCsgEmfK2I1SDS_4core3ops8function6FnOnceTRNtNtNtBe_12backtrace_rs9symbolize6SymbolEE9call_once6vtableBe_",
      "<std::sys::backtrace::_print_fmt::{closure#1}::{closure#0} as core::ops::function::FnOnce<(&std::backtrace_rs::symbolize::Symbol,)>>::call_once::{shim:vtable#0}"
    ),
    (
      "_RINvMNtCsgEmfK2I1SDS_4core5sliceSh11copy_withinINtNtNtB5_3ops5range14RangeInclusivejEECsfEOYDRpO4Ta_11miniz_oxide",
      "<[u8]>::copy_within::<core::ops::range::RangeInclusive<usize>>"
    ),
    ("_RNvC1a1f.llvm.1234", "a::f"), ("_RINvC1a1fKj10_Kln1_Kb1_Kc41_Ahj4_E", "a::f::<16, -1, true, 'A', [u8; 4]>"),
    ("_RINvC1a1fFUKCQeOuEzE", "a::f::<unsafe extern \"C\" fn(&mut str, *mut ()) -> !>"),
  ]

  @Test("names of Rust's functions are read", arguments: names) func known(mangled: String, name: String) {
    #expect(RustSymbol.demangled(mangled) == name)
  }

  @Test(
    "what is no such name is left as it is",
    arguments: [
      "", "_R", "_RN", "main", "_ZN4core3fmt", "_RNvC1a", "_RNvC1a2f", "_RNvC1a1fX", "_RB_", "_RNvB_1f",
      "_RNvC1a99999999999999999999f",
      "_RINvC1a1fL0_E", "_RINvC1a1fKc110000_E", "_RINvC1a1fKb2_E", "_RNvC1\u{e9}1f",
      "_RMC1a" + String(repeating: "S", count: 10_000) + "h",
      // Each stands for two of the one before.
      "_RINvC1a1fTuuETB7_B7_ETBb_Bb_ETBj_Bj_ETBr_Br_ETBz_Bz_ETBH_BH_ETBP_BP_ETBX_BX_ETB15_B15_ETB1d_B1d_ETB1n_B1n_ETB1x_B1x_ETB1H_B1H_ETB1R_B1R_ETB21_B21_ETB2b_B2b_ETB2l_B2l_ETB2v_B2v_ETB2F_B2F_ETB2P_B2P_ETB2Z_B2Z_ETB39_B39_ETB3j_B3j_ETB3t_B3t_ETB3D_B3D_ETB3N_B3N_ETB3X_B3X_ETB47_B47_ETB4h_B4h_ETB4r_B4r_EE",
    ])
  func unreadable(name: String) { #expect(RustSymbol.demangled(name) == nil) }

  @Test("a name that was changed is read or isn't, in bounded time and length", arguments: [seed])
  func changed(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_".utf8)
    for _ in 0..<3000 {
      var bytes = Array(Self.names[random.below(Self.names.count)].0.utf8)
      for _ in 0...random.below(4) {
        let place = 2 + random.below(bytes.count - 2)
        switch random.below(3) {
        case 0: bytes[place] = letters[random.below(letters.count)]
        case 1: bytes.insert(letters[random.below(letters.count)], at: place)
        default: if bytes.count > 8 { bytes.remove(at: place) }
        }
      }
      let text = RustSymbol.demangled(String(decoding: bytes, as: UTF8.self))
      #expect((text?.utf8.count ?? 0) <= 4096)
    }
  }

  private static let seed =
    ProcessInfo.processInfo.environment["OUTRIDER_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)

  @Test(
    "names of the older kind are read",
    arguments: [
      ("_ZN4core9panicking9panic_fmt17h0123456789abcdefE", "core::panicking::panic_fmt"),
      (
        "_ZN81_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..ops..index..Index$LT$I$GT$$GT$5index17h3d65aa0123456789E",
        "<alloc::vec::Vec<T,A> as core::ops::index::Index<I>>::index"
      ),
      ("_ZN3std4sync14Mutex$LT$T$GT$4lock17hef67aa0123456789E.llvm.123", "std::sync::Mutex<T>::lock"),
      ("_ZN5media6Reader2atEPid", nil), ("_ZN4core17h0123456789abcdeE", nil), ("_ZN17h0123456789abcdefE", nil),
      ("_ZN4core17h0123456789abcdegE", nil), ("_ZN9$LT$oops$17h0123456789abcdefE", nil),
      ("_ZN99999999999999999999999core17h0123456789abcdefE", nil), ("_ZN4cor", nil), ("_ZN", nil),
    ] as [(String, String?)])
  func legacy(mangled: String, name: String?) { #expect(RustSymbol.demangled(mangled) == name) }
}
