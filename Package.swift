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

/// Whether Tests/run.sh builds this package.
let isTestRun = Context.environment["LIFEBOAT_TEST_RUN"] == "1"
// For tests, those libraries are optimized whose tests spend long in the libraries' own code; assertions stay on.
// Without optimization, the builds of ModelTools and StoreMigration take 150 CPU-seconds less, and their tests 80 more;
// for other libraries, the tests take more than the build saves. Compiled as a whole, an optimized module takes a fifth
// less time than file by file; SwiftPM expects an object for each file, which needs a number of threads.
let librarySettings: [SwiftSetting] =
  settings
  + (isTestRun
    ? [.unsafeFlags(["-O", "-assert-config", "Debug", "-wmo", "-num-threads", "2"])] : [])

let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
// This name of the product exists in both major versions of swift-crypto that this package allows.
let cryptoExtras: Target.Dependency = .product(name: "_CryptoExtras", package: "swift-crypto")
let argumentParser: Target.Dependency = .product(
  name: "ArgumentParser", package: "swift-argument-parser")

/// Returns a library target and the target of its tests. A target may import only the targets that are named here. All
/// of them are below it in ARCHITECTURE.md.
///
/// `isOptimized` says whether the library is optimized when it is built for tests. An optimized build takes three times
/// as much time.
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
    // StoreReport uses this for the templates of its HTML pages.
    .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
  ],
  targets: [
    // What a model demands of a store. The check, the repair and the making of new stores use this. The tests of this
    // target are in CoreDataStoreTests.
    .target(
      name: "CoreDataForensics",
      dependencies: [
        "CoreDataStore", "ModelTools", "ObjectModel", "SQLiteFile", "SQLiteForensics", "StoreFiles",
        "SafeText",
      ],
      swiftSettings: librarySettings),
    // Models in forms other than the compiled one, and the tools that work on models. The tests of this target are in
    // ObjectModelTests, because they write models in the forms that they read.
    .target(
      name: "ModelTools", dependencies: ["ObjectModel", "SafeText", "Quoting"],
      swiftSettings: settings),
    // The files of a store, their seal and the store's metadata. The tests of this target are in StoreRecoveryTests and
    // CoreDataStoreTests.
    .target(
      name: "StoreFiles",
      dependencies: ["ObjectModel", "SQLiteFile", "SafeText", "SafeFiles", "CLibrary", crypto],
      swiftSettings: librarySettings),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CFiles"),
    // The C library of each system, under one name.
    .target(name: "CLibrary", dependencies: ["CFiles"], swiftSettings: settings),
    // Optimized for tests: most of them make their files with it and compare thousands of values, a byte of noise takes
    // 400 ns without, and the comparison of two arrays 30 ns for each byte.
    .target(
      name: "Fixtures",
      dependencies: ["CLibrary", "CSQLite", "CZlib", "ObjectModel", "SQLiteFile", crypto],
      path: "Tests/Fixtures", swiftSettings: librarySettings),
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
    // The process that the tests of StoreRecovery stop and kill.
    .executableTarget(
      name: "RecoveryChild",
      dependencies: [
        "StoreRecovery", "StoreFiles", "ObjectModel", "SafeFiles", "SafeText", "CLibrary",
        "CSQLite",
      ],
      path: "Tests/RecoveryChild", swiftSettings: settings),
    .testTarget(
      name: "LifeboatCLITests", dependencies: ["LifeboatCLI", "Fixtures"],
      swiftSettings: settings),
    // Runs lifeboat as its users do. It does not depend on the commands, so a change of theirs does not compile it anew.
    .testTarget(
      name: "ProgramTests", dependencies: ["StoreTriage", "Fixtures", "CLibrary", crypto],
      swiftSettings: settings),
  ]
    + room("SafeText", imports: [])
    + room("Quoting", imports: ["SafeText"])
    + room("SafeFiles", imports: ["CLibrary"])
    + room("Terminal", imports: ["Quoting", "SafeText", "CLibrary"])
    + room(
      "StoreReport",
      imports: [
        "StoreTriage", "SupportBundle", "StoreExtraction", "StoreRecovery", "CoreDataForensics",
        "CoreDataStore",
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
      ], isOptimized: false)
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

// Dependencies and targets that are needed only when Tests/run.sh builds this package.
if isTestRun {
  // The sample app, which depends on the same libraries as the tests. For readers, Samples/NotesApp has a package of
  // its own, which .ci/run builds in long rounds.
  package.dependencies.append(
    .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"))
  package.targets.append(
    .executableTarget(
      name: "notes",
      dependencies: ["StoreRecovery", .product(name: "GRDB", package: "GRDB.swift")],
      path: "Samples/NotesApp/Sources/Notes",
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]))

  // The adaptors for Apple's frameworks. They are compiled and run against stand-ins that have the frameworks' names.
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
