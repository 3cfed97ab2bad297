// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableExperimentalFeature("Lifetimes"),
]

/// Whether Tests/run.sh builds.
let isTestRun = Context.environment["LIFEBOAT_TEST_RUN"] == "1"
// A build for tests optimizes the libraries whose tests run long in their own code; assertions stay. Plain builds of
// StoreExtraction, ModelTools, SupportBundle and StoreMigration save 260 CPU-seconds, and their tests then take as many
// more.
let librarySettings: [SwiftSetting] =
  settings + (isTestRun ? [.unsafeFlags(["-O", "-assert-config", "Debug"])] : [])

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
// The name under which both major versions have it.
let cryptoExtras: Target.Dependency = .product(name: "_CryptoExtras", package: "swift-crypto")
let argumentParser: Target.Dependency = .product(
  name: "ArgumentParser", package: "swift-argument-parser")

/// A library target and its tests. A target imports only what is named here, which is always below it.
///
/// `isOptimized`: whether a build for tests optimizes it, which takes three times as long.
func room(
  _ name: String, imports: [Target.Dependency], tests: [Target.Dependency] = [],
  isOptimized: Bool = true
) -> [Target] {
  [
    .target(
      name: name, dependencies: imports, swiftSettings: isOptimized ? librarySettings : settings),
    .testTarget(
      name: name + "Tests", dependencies: [.target(name: name), "Fixtures"] + imports + tests,
      swiftSettings: settings),
  ]
}

let package = Package(
  name: "Lifeboat",
  platforms: [.macOS(.v13), .iOS(.v16)],
  products: [
    .executable(name: "lifeboat", targets: ["LifeboatCLI"]),
    .library(name: "SQLiteFile", targets: ["SQLiteFile"]),
    .library(name: "RowText", targets: ["RowText"]),
    .library(name: "SQLiteForensics", targets: ["SQLiteForensics"]),
    .library(name: "ObjectModel", targets: ["ObjectModel"]),
    .library(name: "ModelTools", targets: ["ModelTools"]),
    .library(name: "StoreFiles", targets: ["StoreFiles"]),
    .library(name: "CoreDataStore", targets: ["CoreDataStore"]),
    .library(name: "StoreExtraction", targets: ["StoreExtraction"]),
    .library(name: "ManagedObjects", targets: ["ManagedObjects"]),
    .library(name: "StoreMigration", targets: ["StoreMigration"]),
    .library(name: "StoreRecovery", targets: ["StoreRecovery"]),
    .library(name: "StoreReturns", targets: ["StoreReturns"]),
    .library(name: "SupportBundle", targets: ["SupportBundle"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-crypto", "3.12.3"..<"5.0.0"),
    // For the report.
    .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
  ],
  targets: [
    // What a model demands of a store: for the check, for repair and for new stores.
    // Its tests are CoreDataStoreTests.
    .target(
      name: "CoreDataForensics",
      dependencies: [
        "CoreDataStore", "ModelTools", "ObjectModel", "SQLiteFile", "SQLiteForensics", "StoreFiles",
        "SafeText",
      ],
      swiftSettings: librarySettings),
    // Models in their other forms, and what is done with models.
    // Its tests are ObjectModelTests: they write what they read.
    .target(
      name: "ModelTools", dependencies: ["ObjectModel", "SafeText", "Quoting"],
      swiftSettings: librarySettings),
    // The files of a store, their seal and its metadata. Its tests are StoreRecoveryTests and CoreDataStoreTests.
    .target(
      name: "StoreFiles",
      dependencies: ["ObjectModel", "SQLiteFile", "SafeText", "SafeFiles", "CLibrary", crypto],
      swiftSettings: librarySettings),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CFiles"),
    // The system's C library under one name.
    .target(name: "CLibrary", dependencies: ["CFiles"], swiftSettings: settings),
    .target(
      name: "Fixtures",
      dependencies: ["CLibrary", "CSQLite", "CZlib", "ObjectModel", "SQLiteFile", crypto],
      path: "Tests/Fixtures", swiftSettings: settings),
    .executableTarget(
      name: "LifeboatCLI",
      dependencies: [
        "StoreReport", "StoreTriage", "SupportBundle", "AgeFiles", "SQLCipherFiles", "StoreReturns",
        "StoreRecovery",
        "StoreMigration", "StoreExtraction", "CoreDataForensics", "CoreDataStore", "ModelTools",
        "ObjectModel", "RowText", "SQLiteFile",
        "SQLiteForensics", "SQLiteWriter", "StoreFiles", "Terminal", "Quoting", "SafeText",
        "SafeFiles", "CLibrary", argumentParser,
      ],
      swiftSettings: settings),
    // The process that tests of the recovery layer stop and kill.
    .executableTarget(
      name: "RecoveryChild",
      dependencies: [
        "StoreRecovery", "StoreFiles", "ObjectModel", "SafeFiles", "SafeText", "CLibrary",
        "CSQLite",
      ],
      path: "Tests/RecoveryChild", swiftSettings: settings),
    .testTarget(
      name: "LifeboatCLITests", dependencies: ["LifeboatCLI", "Fixtures", crypto],
      swiftSettings: settings),
  ]
    + room("SafeText", imports: [])
    + room("Quoting", imports: ["SafeText"])
    + room("SafeFiles", imports: ["CLibrary"])
    + room("Terminal", imports: ["Quoting", "SafeText", "CLibrary"])
    + room(
      "StoreReport",
      imports: [
        "StoreTriage", "SupportBundle", "StoreExtraction", "StoreRecovery", "CoreDataStore",
        "ModelTools", "ObjectModel", "SQLiteForensics", "SQLiteFile", "StoreFiles", "SafeText",
        "Terminal",
        "Quoting", crypto, .product(name: "Mustache", package: "swift-mustache"),
      ], isOptimized: false)
    + room(
      "StoreTriage",
      imports: [
        "SupportBundle", "AgeFiles", "SQLCipherFiles", "StoreExtraction", "StoreRecovery",
        "CoreDataStore", "ObjectModel", "SQLiteFile", "SQLiteWriter", "StoreFiles", "SafeText",
        "SafeFiles",
        "CLibrary",
      ], isOptimized: false)
    + room("AgeFiles", imports: [crypto, cryptoExtras])
    + room("SQLCipherFiles", imports: ["SQLiteFile", "ObjectModel", crypto, cryptoExtras])
    + room(
      "SupportBundle",
      imports: [
        "AgeFiles", "SQLCipherFiles", "StoreExtraction", "StoreRecovery", "CoreDataForensics",
        "CoreDataStore", "ModelTools",
        "ObjectModel", "RowText", "SQLiteFile", "SQLiteForensics", "StoreFiles", "SafeText",
        "SafeFiles", "CLibrary", "CZlib", crypto,
      ])
    + room(
      "StoreRecovery",
      imports: [
        "StoreFiles", "ObjectModel", "SQLiteFile", "SafeText", "SafeFiles", "CLibrary", crypto,
      ],
      tests: ["CSQLite", "CoreDataStore", "ModelTools", "RecoveryChild"], isOptimized: false)
    + room(
      "StoreReturns",
      imports: [
        "StoreRecovery", "StoreFiles", "ObjectModel", "SQLiteFile", "SafeText", "SafeFiles",
        "CLibrary", crypto,
      ], tests: ["StoreMigration", "SupportBundle", "AgeFiles"], isOptimized: false)
    + room(
      "StoreMigration",
      imports: [
        "StoreExtraction", "ManagedObjects", "CoreDataForensics", "CoreDataStore", "ModelTools",
        "ObjectModel", "RowText", "SQLiteFile", "SQLiteForensics", "SQLiteWriter", "StoreFiles",
        "SafeText", "SafeFiles", "CLibrary",
      ])
    + room(
      "ManagedObjects", imports: ["CoreDataStore", "ObjectModel", "SQLiteFile", "SQLiteWriter"],
      tests: ["StoreMigration", "CoreDataForensics"])
    + room(
      "StoreExtraction",
      imports: [
        "CoreDataForensics", "CoreDataStore", "ModelTools", "ObjectModel", "RowText",
        "SQLiteFile", "SQLiteForensics", "SQLiteWriter", "StoreFiles", "SafeText", "SafeFiles",
        "CLibrary", crypto,
      ], tests: ["StoreMigration", "SupportBundle", "AgeFiles"])
    + room("SQLiteWriter", imports: ["SafeText", "SafeFiles", "CLibrary", "CSQLite"])
    + room(
      "CoreDataStore",
      imports: ["StoreFiles", "ObjectModel", "SQLiteFile", "SafeText", "SafeFiles", "CZlib"],
      tests: ["CoreDataForensics", "SQLiteWriter"])
    + room("ObjectModel", imports: ["SafeText", crypto], tests: ["ModelTools"])
    + room("SQLiteForensics", imports: ["RowText", "SQLiteFile", "SafeText"])
    + room("RowText", imports: ["SQLiteFile", "Quoting", "SafeText", "CLibrary"])
    + room("SQLiteFile", imports: ["SafeText", "SafeFiles", "CLibrary"], tests: ["RowText"])
)

// What only Tests/run.sh asks for.
if isTestRun {
  // The sample app, with what it shares with the tests. Samples/NotesApp has a package of its own for readers, which
  // .ci/run builds in the long rounds.
  package.dependencies.append(
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"))
  package.targets.append(
    .executableTarget(
      name: "notes",
      dependencies: ["StoreRecovery", .product(name: "GRDB", package: "GRDB.swift")],
      path: "Samples/NotesApp/Sources/Notes",
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]))

  // The adaptors for Apple's frameworks, compiled and run against stand-ins of the frameworks' names.
  let folder = "Tests/AppleAdaptors/"
  let names = [
    "CoreData": "StubCoreData", "SwiftData": "StubSwiftData", "StoreRecovery": "StubStoreRecovery",
  ]
  let aliased =
    settings
    + [
      .unsafeFlags(
        names.sorted { $0.key < $1.key }.flatMap { ["-module-alias", "\($0.key)=\($0.value)"] })
    ]
  package.targets += [
    .target(
      name: "StubCoreData", dependencies: ["CSQLite"], path: folder + "CoreData",
      swiftSettings: settings),
    .target(
      name: "StubSwiftData", dependencies: ["StubCoreData"], path: folder + "SwiftData",
      swiftSettings: aliased),
    .target(
      name: "StubStoreRecovery",
      dependencies: [
        "StoreFiles", "ObjectModel", "SQLiteFile", "SafeText", "SafeFiles", "CLibrary", crypto,
        "StubCoreData", "StubSwiftData",
      ],
      path: folder + "StoreRecovery", swiftSettings: aliased),
    .testTarget(
      name: "AppleAdaptorsTests",
      dependencies: ["StubStoreRecovery", "StubCoreData", "StubSwiftData", "Fixtures"],
      path: folder + "Tests", swiftSettings: aliased),
  ]
}
