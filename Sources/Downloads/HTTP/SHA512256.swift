/// SHA-512/256 (FIPS 180-4, 5.3.6.2), which swift-crypto doesn't have: SHA-512 from another start, cut to 32 bytes. For the
/// short texts of Digest authentication only.
enum SHA512256 {
  static func hash(_ message: [UInt8]) -> [UInt8] {
    var padded = message + [0x80]
    padded += [UInt8](repeating: 0, count: (240 - padded.count % 128) % 128 + 8)
    withUnsafeBytes(of: (UInt64(message.count) * 8).bigEndian) { padded += $0 }
    var state = start
    for block in stride(from: 0, to: padded.count, by: 128) { mix(padded[block..<block + 128], into: &state) }
    return state.prefix(4).flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
  }

  private static func mix(_ block: ArraySlice<UInt8>, into state: inout [UInt64]) {
    var schedule = stride(from: block.startIndex, to: block.endIndex, by: 8).map { index in
      block[index..<index + 8].reduce(0) { $0 << 8 | UInt64($1) }
    }
    for index in 16..<80 {
      let (early, late) = (schedule[index - 15], schedule[index - 2])
      let first = rotated(early, 1) ^ rotated(early, 8) ^ early >> 7
      let second = rotated(late, 19) ^ rotated(late, 61) ^ late >> 6
      schedule.append(schedule[index - 16] &+ first &+ schedule[index - 7] &+ second)
    }
    var work = state
    for index in 0..<80 {
      let (first, fifth) = (work[0], work[4])
      let choice = fifth & work[5] ^ ~fifth & work[6]
      let majority = first & work[1] ^ first & work[2] ^ work[1] & work[2]
      let one =
        work[7] &+ (rotated(fifth, 14) ^ rotated(fifth, 18) ^ rotated(fifth, 41)) &+ choice &+ constants[index]
        &+ schedule[index]
      let two = (rotated(first, 28) ^ rotated(first, 34) ^ rotated(first, 39)) &+ majority
      work = [one &+ two, first, work[1], work[2], work[3] &+ one, fifth, work[5], work[6]]
    }
    for index in 0..<8 { state[index] &+= work[index] }
  }

  private static func rotated(_ word: UInt64, _ count: UInt64) -> UInt64 { word >> count | word << (64 - count) }

  private static let start: [UInt64] = [
    0x22312194_fc2bf72c, 0x9f555fa3_c84c64c2, 0x2393b86b_6f53b151, 0x96387719_5940eabd,
    0x96283ee2_a88effe3, 0xbe5e1e25_53863992, 0x2b0199fc_2c85b8aa, 0x0eb72ddc_81c52ca2,
  ]

  /// The first 64 bits of the fractions of the cube roots of the first 80 primes.
  private static let constants: [UInt64] = [
    0x428a2f98_d728ae22, 0x71374491_23ef65cd, 0xb5c0fbcf_ec4d3b2f, 0xe9b5dba5_8189dbbc,
    0x3956c25b_f348b538, 0x59f111f1_b605d019, 0x923f82a4_af194f9b, 0xab1c5ed5_da6d8118,
    0xd807aa98_a3030242, 0x12835b01_45706fbe, 0x243185be_4ee4b28c, 0x550c7dc3_d5ffb4e2,
    0x72be5d74_f27b896f, 0x80deb1fe_3b1696b1, 0x9bdc06a7_25c71235, 0xc19bf174_cf692694,
    0xe49b69c1_9ef14ad2, 0xefbe4786_384f25e3, 0x0fc19dc6_8b8cd5b5, 0x240ca1cc_77ac9c65,
    0x2de92c6f_592b0275, 0x4a7484aa_6ea6e483, 0x5cb0a9dc_bd41fbd4, 0x76f988da_831153b5,
    0x983e5152_ee66dfab, 0xa831c66d_2db43210, 0xb00327c8_98fb213f, 0xbf597fc7_beef0ee4,
    0xc6e00bf3_3da88fc2, 0xd5a79147_930aa725, 0x06ca6351_e003826f, 0x14292967_0a0e6e70,
    0x27b70a85_46d22ffc, 0x2e1b2138_5c26c926, 0x4d2c6dfc_5ac42aed, 0x53380d13_9d95b3df,
    0x650a7354_8baf63de, 0x766a0abb_3c77b2a8, 0x81c2c92e_47edaee6, 0x92722c85_1482353b,
    0xa2bfe8a1_4cf10364, 0xa81a664b_bc423001, 0xc24b8b70_d0f89791, 0xc76c51a3_0654be30,
    0xd192e819_d6ef5218, 0xd6990624_5565a910, 0xf40e3585_5771202a, 0x106aa070_32bbd1b8,
    0x19a4c116_b8d2d0c8, 0x1e376c08_5141ab53, 0x2748774c_df8eeb99, 0x34b0bcb5_e19b48a8,
    0x391c0cb3_c5c95a63, 0x4ed8aa4a_e3418acb, 0x5b9cca4f_7763e373, 0x682e6ff3_d6b2b8a3,
    0x748f82ee_5defb2fc, 0x78a5636f_43172f60, 0x84c87814_a1f0ab72, 0x8cc70208_1a6439ec,
    0x90befffa_23631e28, 0xa4506ceb_de82bde9, 0xbef9a3f7_b2c67915, 0xc67178f2_e372532b,
    0xca273ece_ea26619c, 0xd186b8c7_21c0c207, 0xeada7dd6_cde0eb1e, 0xf57d4f7f_ee6ed178,
    0x06f067aa_72176fba, 0x0a637dc5_a2c898a6, 0x113f9804_bef90dae, 0x1b710b35_131c471b,
    0x28db77f5_23047d84, 0x32caab7b_40c72493, 0x3c9ebe0a_15c9bebc, 0x431d67c4_9c100d4c,
    0x4cc5d4be_cb3e42b6, 0x597f299c_fc657e2a, 0x5fcb6fab_3ad6faec, 0x6c44198c_4a475817,
  ]
}
