import CLibrary
package import SafeFiles
import SafeText

/// The files and folders that belong to one store, as found on disk at one moment.
///
/// If the main file is `X`, the set contains `X`, `X-wal`, `X-shm`, `X-journal`, the folder of external files
/// `.Y_SUPPORT` (`Y` is `X` without its extension), and the files `.X.migrationdestination_*` that an unfinished
/// migration left. Members that do not exist are left out. The contents of folders are members, too. A symbolic link is
/// a member itself; its target is not.
package struct StoreSet: Sendable, Equatable {
  package enum Role: String, Sendable, Codable, CaseIterable {
    case main
    case wal
    /// The wal-index, `-shm`, which holds no rows.
    case sharedMemory
    case journal
    /// The folder of external files, or a file or folder inside it.
    case support
    /// A file or folder that an unfinished migration left.
    case migrationDestination

    /// Whether a member with this role may be a folder, or a file inside a folder with this role.
    package var mayBeFolder: Bool { self == .support || self == .migrationDestination }
  }

  /// The kind of file at a path. A symbolic link is not followed.
  package typealias Kind = FileStatus.Kind

  package struct Member: Sendable, Codable, Equatable {
    package let role: Role
    package let path: String
    /// The path relative to the store's folder. It has several components only if the member lies inside the support
    /// folder or a migration folder.
    package let name: String
    package let kind: Kind
    /// The size in bytes; 0 for anything but a file.
    package let sizeBytes: Int64
  }

  /// The path of the main file, as given.
  package let mainPath: String
  package var storeName: String { PathText.lastComponent(of: mainPath) }

  /// The members that exist. The main file comes first, and each folder comes before its contents.
  package let members: [Member]

  /// Whether all members were listed. False when a folder could not be read, a name is not UTF-8, folders are nested
  /// too deeply, or there are too many files. An incomplete set must not be moved.
  package var isComplete: Bool { problem == nil }

  /// The reason why not all members were listed, and what the user can do about it; nil when all members were listed.
  package let problem: String?

  /// The reason why the store set cannot be read completely; nil when it can be. The reason is ``problem`` or, without
  /// a problem, a message that names the external files that this user may not read.
  package var unread: String? {
    if let problem { return problem }
    let refused = members.filter { member in
      guard member.role == .support, member.kind == .file else { return false }
      return unsafe access(member.path, R_OK) != 0
    }
    guard let first = refused.first else { return nil }
    let name = VisibleText.visible(first.name, limit: 200)
    return refused.count == 1
      ? "\(name) cannot be read"
      : "\(name) and \(counted(refused.count - 1, "more file")) cannot be read"
  }

  /// The files that SQLite uses, as pairs of a suffix and a role. The file's name is the main file's name followed by
  /// the suffix.
  private static let databaseFiles: [(suffix: String, role: Role)] = [
    ("", .main), ("-wal", .wal), ("-shm", .sharedMemory), ("-journal", .journal),
  ]

  static let depthLimit = 32

  static let memberLimit = 200_000

  /// Lists the store set whose main file is at `mainPath`. The main file need not exist.
  package init(at mainPath: String) {
    var listing = Listing(folder: PathText.folder(of: mainPath))
    let name = PathText.lastComponent(of: mainPath)
    for (suffix, role) in Self.databaseFiles { listing.add(name + suffix, as: role) }
    listing.add(Self.supportName(for: name), as: .support)
    // If the folder cannot be listed and no member was found, the folder probably does not exist, so no problem is
    // noted.
    if let present = try? FolderEntries.read(listing.folder, limit: Self.memberLimit) {
      let prefix = Self.migrationPrefix(for: name)
      for entry in present.names.sortedByBytes() where PathText.starts(entry, with: prefix) {
        listing.add(entry, as: .migrationDestination)
      }
      listing.note(present.problem(in: "the store's folder"))
    } else if !listing.members.isEmpty {
      listing.note("the store's folder cannot be read; give this user the right to read it")
    }
    self.mainPath = mainPath
    members = listing.members
    problem = listing.problem
  }

  /// The first member with `role`; nil when no member has it. For ``Role/support``, this is the support folder itself.
  package func first(_ role: Role) -> Member? {
    members.first { $0.role == role }
  }

  /// The size of all files together, in bytes, clamped to `Int64.max`.
  package var sizeBytes: Int64 {
    members.reduce(0) { $0.addingClamped($1.sizeBytes) }
  }

  /// Returns the role that the path `name`, relative to the store's folder, has in the store set of the main file
  /// `mainName`. nil when the path cannot be that of a member, for example because it leads out of the store's folder.
  package static func role(ofMember name: String, mainName: String) -> Role? {
    guard PathText.isPlainName(mainName) else { return nil }
    let parts = PathText.components(of: name)
    guard let first = parts.first, parts.allSatisfy({ PathText.isPlainName($0) }),
      let outer = role(ofEntry: first, mainName: mainName)
    else { return nil }
    return parts.count == 1 || outer.mayBeFolder ? outer : nil
  }

  private static func role(ofEntry name: String, mainName: String) -> Role? {
    for (suffix, role) in databaseFiles where PathText.isSame(name, mainName + suffix) {
      return role
    }
    if PathText.isSame(name, supportName(for: mainName)) { return .support }
    return PathText.starts(name, with: migrationPrefix(for: mainName)) ? .migrationDestination : nil
  }

  /// The support folder's name: `.Y_SUPPORT`, where `Y` is the main file's name without its extension.
  package static func supportName(for mainName: String) -> String {
    "." + PathText.stem(of: mainName) + "_SUPPORT"
  }

  static func migrationPrefix(for mainName: String) -> String {
    "." + mainName + ".migrationdestination_"
  }

  /// Resolves the symbolic links in the path `folder` if its last component is a link, because an app may use a link as
  /// its store's folder. Otherwise returns `folder` unchanged.
  package static func resolvedFolder(_ folder: String) -> String {
    guard FileStatus.found(folder)?.kind == .symbolicLink else { return folder }
    return realFolder(folder)
  }

  /// Returns the path `folder` with all symbolic links resolved. Returns `folder` unchanged when the links cannot be
  /// resolved. Use the result for calls that change files.
  package static func realFolder(_ folder: String) -> String {
    SystemCalls.realPath(folder) ?? folder
  }
}

private struct Listing {
  let folder: String
  var members: [StoreSet.Member] = []
  /// The first failure to list a member of the store set; nil when all members were listed.
  private(set) var problem: String?

  init(folder: String) { self.folder = folder }

  mutating func note(_ problem: String?) { self.problem = self.problem ?? problem }

  /// Adds the file or folder `name` to the members of the store set. If the role of a folder allows folders, also adds
  /// the folder's contents, down to ``StoreSet/depthLimit`` levels.
  mutating func add(_ name: String, as role: StoreSet.Role, depth: Int = 0) {
    let path = folder + "/" + name
    let shown = VisibleText.visible(name, limit: 200)
    let status: FileStatus?
    do { status = try FileStatus.of(path) } catch {
      return note("\(shown) cannot be examined; give this user the right to read its folder")
    }
    guard let status else { return }
    guard members.count < StoreSet.memberLimit else {
      return note(
        "the store has more than \(StoreSet.memberLimit) files, which is the limit for a move")
    }
    guard depth <= StoreSet.depthLimit else {
      return note("\(shown) is more than \(StoreSet.depthLimit) folders deep; move it out")
    }
    members.append(
      .init(
        role: role, path: path, name: name, kind: status.kind,
        sizeBytes: status.kind == .file ? status.sizeBytes : 0))
    // A folder in the place of a file, such as the log, is listed but not entered.
    guard status.kind == .folder, role.mayBeFolder else { return }
    guard let inside = try? FolderEntries.read(path, limit: StoreSet.memberLimit) else {
      return note("\(shown) cannot be read; give this user the right to read it")
    }
    note(inside.problem(in: shown))
    for entry in inside.names.sortedByBytes() {
      add(name + "/" + entry, as: role, depth: depth + 1)
    }
  }
}

extension FixedWidthInteger {
  /// The sum of this number and `other`, or the maximum of the type when the sum would be larger. A negative `other`
  /// counts as 0. Use it to add sizes of sparse files, or numbers from a record, because their sum may overflow.
  package func addingClamped(_ other: Self) -> Self {
    let (sum, overflow) = addingReportingOverflow(Swift.max(0, other))
    return overflow ? .max : sum
  }
}
