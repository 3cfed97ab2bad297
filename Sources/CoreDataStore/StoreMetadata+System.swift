package import StoreFiles

extension StoreMetadata {
  /// Returns the systems whose Core Data has this framework version (`NSPersistenceFrameworkVersion`); nil when it is
  /// unknown.
  package static func system(ofFramework version: Int64) -> String? {
    // The ranges were derived from stores whose systems are known.
    let eras: [(ClosedRange<Int64>, String)] = [
      (230...241, "iPhone OS 2 to 3"), (320...329, "iOS 4"), (407...419, "iOS 6 or OS X 10.8"),
      (519...520, "iOS 8"), (637...641, "iOS 9 or OS X 10.11"),
      (752...754, "iOS 10 or macOS 10.12"), (847...851, "iOS 11 or macOS 10.13"),
      (865...866, "iOS 12 or macOS 10.14"), (977...979, "iOS 13 or macOS 10.15"),
      (1044...1048, "iOS 14 or macOS 11"), (1132...1145, "iOS 15 or macOS 12"),
      (1239...1251, "iOS 16 or macOS 13"), (1333...1345, "iOS 17 or macOS 14"),
      (1448...1449, "iOS 18 or macOS 15"),
    ]
    return eras.first { $0.0.contains(version) }?.1
  }
}
