import CLibrary
import StoreFiles
package import SafeFiles

/// The calls that change the file system or make a change durable. Each call is a closure, so that a test can observe
/// the call, make it fail or interrupt it. A call that changes something fails when a folder in the path is a symbolic
/// link.
package struct FileSystem: Sendable {
  /// Gives a file a second name: `link(from, to)`. Fails when `to` exists.
  package var link: @Sendable (String, String) throws -> Void
  /// Renames a file: `rename(from, to)`. Fails when `to` exists.
  package var rename: @Sendable (String, String) throws -> Void
  /// Renames one of Lifeboat's records, and replaces an older record with that name: `replace(from, to)`. Also replaces
  /// a kept file by its copy.
  package var replace: @Sendable (String, String) throws -> Void
  /// Removes one name of a file: `unlink(path, file)`. Fails if the name now belongs to another file than `file`. If
  /// `file` is nil, the name may belong to any file. Only names that Lifeboat alone uses are removed in this way.
  package var unlink: @Sendable (String, FileStatus?) throws -> Void
  /// Removes the temporary files in a folder that remain if a process was killed during an `unlink`.
  package var sweep: @Sendable (String) throws -> Void
  /// Makes a folder with the given permissions. Fails when the name is taken.
  package var makeFolder: @Sendable (String, UInt32) throws -> Void
  /// Makes an empty folder with the permissions and extended attributes of another folder: `copyFolder(from, to)`. If
  /// this process is root, the new folder also gets the other folder's owner. Fails when `to` exists.
  package var copyFolder: @Sendable (String, String) throws -> Void
  /// Removes an empty folder.
  package var removeFolder: @Sendable (String) throws -> Void
  package var syncFile: @Sendable (String) throws -> Void
  package var syncFolder: @Sendable (String) throws -> Void
  /// Copies a file or a link: `copy(from, to)`, with permissions and times, and syncs it. Fails when `to` exists.
  package var copy: @Sendable (String, String) throws -> Void
  /// Writes a new file that only this user may read, and syncs it. Fails when the name is taken.
  package var write: @Sendable (String, [UInt8]) throws -> Void
  /// Locks one of Lifeboat's files without waiting, and creates the file when it is missing. Returns a descriptor,
  /// which holds the lock until the descriptor is closed or the process ends; nil while another process holds the lock.
  package var lock: @Sendable (String) throws -> Int32?
  /// Sets the modification time of an empty file of Lifeboat's, in nanoseconds since 1970. The change need not be
  /// durable.
  package var setModified: @Sendable (String, Int64) throws -> Void
  /// Gives one of Lifeboat's files the given owner, group and permissions. When this user may not set the group, the
  /// permissions are those of ``FileTraits/modeInAnotherGroup`` instead.
  package var setTraits: @Sendable (String, FileTraits) throws -> Void
  /// The status of the file, folder or link at a path; nil when nothing exists there. The file may change at any time,
  /// so each call that acts on the path checks the file again.
  package var status: @Sendable (String) throws -> FileStatus?
  /// The names in a folder, at most ``entryLimit``.
  package var entries: @Sendable (String) throws -> FolderEntries
  /// The number of bytes that this user may still write on the volume of a folder.
  package var freeSpace: @Sendable (String) throws -> Int64

  static let entryLimit = 100_000

  package static let real = FileSystem(RealFiles())

  init(_ files: RealFiles) {
    link = { try files.link($0, $1) }
    rename = { try files.rename($0, $1) }
    replace = { try files.replace($0, $1) }
    unlink = { try files.unlink($0, $1) }
    sweep = { try files.sweep($0) }
    makeFolder = { try files.makeFolder($0, $1) }
    copyFolder = { try files.copyFolder($0, $1) }
    removeFolder = { try files.removeFolder($0) }
    syncFile = { try files.syncFile($0) }
    syncFolder = { try files.syncFolder($0) }
    copy = { try files.copy($0, $1) }
    write = { try files.write($0, $1) }
    lock = { try files.lock($0) }
    setModified = { try files.setModified($0, $1) }
    setTraits = { try files.setTraits($0, $1) }
    status = { try FileStatus.of($0) }
    entries = { try files.entries($0, limit: Self.entryLimit) }
    freeSpace = { try RealFiles.freeBytes(at: $0) }
  }

  /// Removes the name `path` of a file. Does nothing if the name does not exist. Throws if the name now belongs to
  /// another file than `file`. If `file` is nil, the name may belong to any file.
  func remove(_ path: String, _ file: FileStatus? = nil) throws {
    do {
      try unlink(path, file)
    } catch let error as SystemCallError where error.errno == ENOENT {
      return
    }
  }
}
