// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "NotesApp",
  platforms: [.macOS(.v13)],
  dependencies: [
    // In an app of your own: .package(url: "https://github.com/lifeboat/lifeboat", from: "0.1.0")
    .package(name: "lifeboat", path: "../.."),
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
  ],
  targets: [
    .executableTarget(
      name: "notes",
      dependencies: [
        .product(name: "StoreRecovery", package: "lifeboat"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ],
      path: "Sources/Notes",
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)])
  ]
)
