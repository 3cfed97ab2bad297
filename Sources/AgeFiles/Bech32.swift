/// Bech32 (BIP 173), without its limit of 90 characters: a name, and bytes in groups of five bits with a checksum.
enum Bech32 {
  private static let digits = Array("qpzry9x8gf2tvdw0s3jn54khce6mua7l".utf8)
  private static let checksumLength = 6

  /// Returns the Bech32 text of `bytes` with the name `name`, in lower case. `name` must be lower-case ASCII.
  static func text(_ name: String, _ bytes: [UInt8]) -> String {
    let groups = BitGroups(bytes, of: 8, into: 5).padded
    let start = expanded(Array(name.utf8)) + groups
    let sum = polymod(start + Array(repeating: 0, count: checksumLength)) ^ 1
    let checksum = (0..<checksumLength).map { UInt8(sum >> UInt32(5 * (5 - $0)) & 31) }
    let data = (groups + checksum).map { digits[Int($0)] }
    return name + "1" + String(decoding: data, as: UTF8.self)
  }

  /// Returns the bytes of a Bech32 text whose name is `name`. Nil when the text is not Bech32, mixes upper and lower
  /// case, or has another name or a wrong checksum.
  static func bytes(_ text: String, named name: String) -> [UInt8]? {
    let isUpper = text.utf8.contains { (0x41...0x5a).contains($0) }
    guard !isUpper || !text.utf8.contains(where: { (0x61...0x7a).contains($0) }) else { return nil }
    let lower = text.utf8.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
    let lead = Array(name.utf8) + [UInt8(ascii: "1")]
    guard lower.starts(with: lead) else { return nil }
    let groups = lower.dropFirst(lead.count).compactMap { digits.firstIndex(of: $0) }
      .map { UInt8($0) }
    guard groups.count == lower.count - lead.count, groups.count >= checksumLength,
      polymod(expanded(Array(name.utf8)) + groups) == 1
    else { return nil }
    let bytes = BitGroups(groups.dropLast(checksumLength), of: 5, into: 8)
    // The bits that fill the last group are fewer than five, all of them zero.
    return bytes.restCount < 5 && bytes.rest == 0 ? bytes.full : nil
  }

  private static func expanded(_ name: [UInt8]) -> [UInt8] {
    name.map { $0 >> 5 } + [0] + name.map { $0 & 31 }
  }

  private static func polymod(_ values: [UInt8]) -> UInt32 {
    let generator: [UInt32] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3]
    var sum: UInt32 = 1
    for value in values {
      let top = sum >> 25
      sum = (sum & 0x1ff_ffff) << 5 ^ UInt32(value)
      for place in 0..<5 where top >> UInt32(place) & 1 == 1 { sum ^= generator[place] }
    }
    return sum
  }
}
