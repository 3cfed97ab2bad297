import Testing

@testable import Terminal

@Suite struct QuantityTests {
  @Test(
    arguments: [
      (0, "0"), (7, "7"), (999, "999"), (1000, "1,000"), (1012, "1,012"), (84_210, "84,210"),
      (876_544, "876,544"), (1_234_567, "1,234,567"), (-1234, "-1,234"),
      (Int.min, "-9,223,372,036,854,775,808"),
    ])
  func counts(_ value: Int, _ expected: String) {
    #expect(Quantity.count(value) == expected)
  }

  @Test(
    arguments: [
      (UInt64(0), "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 kB"), (1049, "1.0 kB"),
      (1050, "1.1 kB"), (48_200_000, "48.2 MB"), (999_949, "999.9 kB"), (999_950, "1.0 MB"),
      (999_999_999, "1.0 GB"), (4_100_000, "4.1 MB"), (1_000_000_000_000, "1.0 TB"),
      (UInt64.max, "18.4 EB"),
    ])
  func bytes(_ value: UInt64, _ expected: String) {
    #expect(Quantity.bytes(value) == expected)
  }

  @Test(
    arguments: [
      (UInt64(0), "0:00"), (12, "0:12"), (754, "12:34"), (3723, "1:02:03"), (360_000, "100:00:00"),
    ])
  func durations(_ seconds: UInt64, _ expected: String) {
    #expect(Quantity.duration(seconds: seconds) == expected)
  }
}
