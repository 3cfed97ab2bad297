// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "launch",
  platforms: [.macOS(.v13)],
  dependencies: [.package(name: "lifeboat", path: "../../..")],
  targets: [
    .systemLibrary(name: "SystemSQLite", pkgConfig: "sqlite3"),
    .executableTarget(
      name: "launch",
      dependencies: [
        "SystemSQLite",
        .product(name: "StoreRecovery", package: "lifeboat"),
        .product(name: "ObjectModel", package: "lifeboat"),
      ],
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]),
  ]
)
