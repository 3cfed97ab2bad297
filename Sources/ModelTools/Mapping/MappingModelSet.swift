package import ObjectModel
import SafeText

/// The mapping models of a folder, an app bundle or a list of files.
package struct MappingModelSet: Sendable {
  package struct Item: Sendable {
    /// The name of the file or folder, without its extension: `Moody 2-Moody 3`.
    package let name: String
    /// The name of the file or folder: `Moody 2-Moody 3.xcmappingmodel`.
    package let fileName: String
    package let path: String
    /// The mapping model as it is in the file; nil if the file could not be read, see ``problem``.
    package let mapping: MappingModel?
    /// The mapping model in the form of a `.cdm` (``MappingModel/compiled(from:to:)``). The models that the file itself
    /// contains are used. Nil if the file could not be read.
    package let compiled: MappingModel?
    package let problem: ModelError?

    init(path: String, name: String? = nil, mapping: MappingModel?, problem: ModelError? = nil) {
      let fileName = name ?? ModelFile.lastComponent(path)
      self.name = ModelFile.baseName(fileName)
      self.fileName = fileName
      self.path = path
      self.mapping = mapping
      compiled = mapping?.compiled()
      self.problem = problem
    }
  }

  /// The mapping models, in natural order of their paths.
  package let items: [Item]
  /// The folders that a search did not read, or read only in part. Each error says which folder and why.
  package let notEntered: [ModelError]

  package init(_ items: [Item] = [], notEntered: [ModelError] = []) {
    self.items = items
    self.notEntered = notEntered
  }

  /// Reads the mapping models at a path: an `.xcmappingmodel`, an `xcmapping.xml`, a `.cdm`, or a folder that contains
  /// any of these at any depth, for example an app.
  ///
  /// In a folder, a mapping model that cannot be read is listed with its ``Item/problem``. Symbolic links below the
  /// path are not followed. A folder without mapping models gives an empty set.
  ///
  /// - Throws: ``ModelError`` if nothing exists at the path, or if the path itself is that of one mapping model and
  ///   this mapping model cannot be read.
  package init(at path: String) throws(ModelError) {
    let resolved = ModelFile.resolved(path)
    switch ModelFile.kind(at: resolved) {
    case .folder where ModelFile.pathExtension(resolved) != "xcmappingmodel":
      self = Self.search(resolved)
    case .folder, .file:
      let item = Self.item(resolved)
      if let problem = item.problem { throw problem }
      self.init([item])
    case .other, nil:
      throw ModelFile.absence(at: resolved, givenAs: path)
    }
  }

  /// Reads the mapping models that are in the same folder as the file or folder at `path`. Subfolders are not
  /// searched. The set is empty if there are no mapping models.
  package init(beside path: String) {
    let resolved = ModelFile.resolved(path)
    let folder = PathText.folder(of: resolved)
    guard let all = ModelFile.readNames(in: folder) else {
      self.init(notEntered: [.unreadable(folder: folder)])
      return
    }
    let names = all.filter { ["xcmappingmodel", "cdm"].contains(ModelFile.pathExtension($0)) }
    let most = ModelCollection.maximumVersions
    self.init(
      names.prefix(most).map { Self.item(PathText.joined(folder, $0)) },
      notEntered: names.count > most ? [.tooMany(folder)] : [])
  }

  /// Reads the mapping models at the paths in `mappings`. Then, for each path in `models`, reads the mapping models
  /// inside the folder at this path and those beside it. A path in `models` may also be that of a mapping model, which
  /// is read alone. Each mapping model is listed once.
  ///
  /// - Throws: ``ModelError`` if a mapping model whose path is in `mappings` or `models` cannot be read.
  package init(named mappings: [String], withModelsAt models: [String]) throws(ModelError) {
    var items: [Item] = []
    var notEntered: [ModelError] = []
    var met: Set<[UInt8]> = []
    func add(_ set: MappingModelSet) {
      for error in set.notEntered where !notEntered.contains(error) { notEntered.append(error) }
      items += set.items.filter { met.insert(Array($0.path.utf8)).inserted }
    }
    for path in mappings { add(try MappingModelSet(at: path)) }
    for path in models {
      if Self.isMapping(at: path) {
        add(try MappingModelSet(at: path))
      } else {
        // A path that is not a folder, for example a store, contains no mapping models.
        if ModelFile.kind(at: path) == .folder, let inside = try? MappingModelSet(at: path) {
          add(inside)
        }
        add(MappingModelSet(beside: path))
      }
    }
    self.init(items, notEntered: notEntered)
  }

  /// Whether a path looks like that of a mapping model. The file is not read.
  package static func isMapping(at path: String) -> Bool {
    ["xcmappingmodel", "cdm"].contains(ModelFile.pathExtension(path))
      || ModelFile.lastComponent(path) == "xcmapping.xml"
  }

  /// Reads one mapping model, in the format that the content of the file shows.
  private static func item(_ path: String) -> Item {
    let isBundle = ModelFile.kind(at: path) == .folder
    let file = isBundle ? path + "/xcmapping.xml" : path
    var owner: String?
    if !isBundle, ModelFile.lastComponent(path) == "xcmapping.xml" {
      owner = ModelFile.lastComponent(PathText.folder(of: path))
    }
    do {
      let bytes = try ModelFile.bytes(at: file)
      let mapping =
        HardenedXML.looksLikeXML(bytes)
        ? try MappingModel(xcmapping: bytes) : try MappingModel(archive: bytes)
      return Item(path: path, name: owner, mapping: mapping)
    } catch {
      return Item(path: path, name: owner, mapping: nil, problem: error.at(path: file))
    }
  }

  private static func search(_ root: String) -> MappingModelSet {
    var items: [Item] = []
    var notEntered: [ModelError] = []
    var entryCount = 0
    var pending = [(path: root, depth: 0)]
    while let (path, depth) = pending.popLast() {
      var folders: [String] = []
      guard depth <= ModelCollection.maximumDepth else {
        notEntered.append(.tooDeep(path))
        continue
      }
      guard let names = ModelFile.readNames(in: path) else {
        notEntered.append(.unreadable(folder: path))
        continue
      }
      for name in names {
        entryCount += 1
        guard entryCount <= ModelCollection.maximumEntries,
          items.count < ModelCollection.maximumVersions
        else { return MappingModelSet(items, notEntered: notEntered + [.tooMany(root)]) }
        let entry = path + "/" + name
        switch (ModelFile.kind(at: entry), ModelFile.pathExtension(name)) {
        case (.folder, "xcmappingmodel"): items.append(item(entry))
        case (.folder, _): folders.append(entry)
        case (.file, "cdm"): items.append(item(entry))
        case (.file, "xml") where name == "xcmapping.xml": items.append(item(entry))
        default: break
        }
      }
      pending += folders.reversed().map { ($0, depth + 1) }
    }
    return MappingModelSet(items, notEntered: notEntered)
  }
}
