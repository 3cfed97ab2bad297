import Foundation

/// The cached models of real stores, taken from private copies by Python's sqlite3, so that this
/// target needs neither SQLite nor zlib.
struct CachedModels {
  struct Store {
    let name: String
    let archive: [UInt8]
    let metadata: [UInt8]
  }

  private(set) var stores: [Store] = []

  /// Those of the real stores, which many tests look at.
  private static let ofRealStores = Result<CachedModels?, any Error> {
    guard let root = SharedFiles.path("stores/real") else { return nil }
    return try CachedModels(reading: root)
  }

  /// The cached models of the stores below a folder. Those of all real stores are read once. Nil, with a note in the
  /// log, where there is no Python.
  init?(of root: String) throws {
    let isReal = root == SharedFiles.path("stores/real")
    guard let models = try isReal ? Self.ofRealStores.get() : CachedModels(reading: root) else {
      return nil
    }
    self = models
  }

  private init?(reading root: String) throws {
    guard let python = Self.python() else {
      print("skipped: cached models of real stores need python3")
      return nil
    }
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("cached-models-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = ["-c", Self.script, root, folder.path]
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      print("skipped: python3 could not read the stores")
      return nil
    }
    for archive in SharedFiles.files(below: folder.path, suffix: ".archive") {
      let base = String(archive.dropLast(".archive".count))
      stores.append(
        Store(
          name: URL(fileURLWithPath: base).lastPathComponent,
          archive: try SharedFiles.bytes(archive), metadata: try SharedFiles.bytes(base + ".plist"))
      )
    }
  }

  static func python() -> String? { tool("python3") }

  /// The path of a program; nil where it is not installed.
  static func tool(_ name: String) -> String? {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin"
    return path.split(separator: ":").map { $0 + "/" + name }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  private static let script = """
    import os, shutil, sqlite3, sys, tempfile, zlib
    root, out = sys.argv[1:]
    for folder, _, files in os.walk(root):
        for file in files:
            path = os.path.join(folder, file)
            with open(path, "rb") as handle:
                if handle.read(16) != b"SQLite format 3\\0":
                    continue
            with tempfile.TemporaryDirectory() as private:
                copy = os.path.join(private, "store")
                shutil.copyfile(path, copy)
                if os.path.exists(path + "-wal"):
                    shutil.copyfile(path + "-wal", copy + "-wal")
                connection = sqlite3.connect(copy)
                try:
                    cache = connection.execute("select Z_CONTENT from Z_MODELCACHE").fetchone()
                    plist = connection.execute("select Z_PLIST from Z_METADATA").fetchone()
                except sqlite3.Error:
                    continue
                finally:
                    connection.close()
            if not cache or not cache[0] or not plist or not plist[0]:
                continue
            name = os.path.join(out, os.path.relpath(path, root).replace("/", "_"))
            with open(name + ".archive", "wb") as handle:
                handle.write(zlib.decompress(cache[0], -15))
            with open(name + ".plist", "wb") as handle:
                handle.write(plist[0])
    """
}
