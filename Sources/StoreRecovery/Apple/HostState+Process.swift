import CLibrary
public import Foundation

extension HostState {
  /// The part of the host's state that a process can find out by itself: whether the process is an extension.
  ///
  /// Only `UIApplication` knows whether the app is in the background and whether protected data is available, and an
  /// extension cannot use `UIApplication`. Set these two values yourself.
  ///
  /// - Parameter bundle: The URL of the process's bundle. The bundle of an extension has the path extension `appex`.
  /// - Returns: A state in which only ``isExtension`` is set.
  public static func ofThisProcess(bundle: URL = Bundle.main.bundleURL) -> HostState {
    HostState(isExtension: bundle.pathExtension == "appex")
  }

  /// Returns this state with ``isProtectedDataAvailable`` derived from the store's file. A state in which the host has
  /// set this value is returned unchanged. A protected file that may not be opened shows that the device is locked. A
  /// readable file with the protection class `complete` shows that the device is unlocked.
  ///
  /// - Parameters:
  ///   - openErrno: The error number of an attempt to read the file; 0 when that worked, nil without an attempt.
  ///   - protection: The file's protection class; nil when unknown.
  /// - Returns: The state, completed as far as the file allows.
  func completed(openErrno: Int32?, protection: FileProtectionType?) -> HostState {
    guard isProtectedDataAvailable == nil, let openErrno, let protection, protection != .none else {
      return self
    }
    var state = self
    switch openErrno {
    case EPERM, EACCES: state.isProtectedDataAvailable = false
    case 0 where protection == .complete: state.isProtectedDataAvailable = true
    default: break
    }
    return state
  }

  /// The protection class of a file, found without opening the file; nil on systems without such classes.
  static func protection(ofFileAt path: String) -> FileProtectionType? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return attributes?[.protectionKey] as? FileProtectionType
  }
}
