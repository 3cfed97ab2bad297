import CLibrary
public import Foundation

extension HostState {
  /// What this process can tell by itself: whether it is an extension. All else is unknown.
  ///
  /// Whether the app is in the background, and whether protected data is available, only `UIApplication` says,
  /// which extensions do not have; pass it on from there.
  ///
  /// - Parameter bundle: The bundle that runs.
  /// - Returns: What is known.
  public static func ofThisProcess(bundle: URL = Bundle.main.bundleURL) -> HostState {
    HostState(isExtension: bundle.pathExtension == "appex")
  }

  /// The state, completed by what the store's file tells: a protected file that may not be opened is locked,
  /// and one that could be read although it is protected while the device is locked says that it is not. A
  /// state that the host told is left alone.
  ///
  /// - Parameters:
  ///   - openErrno: The error number of an attempt to read the file; 0 when that worked, nil when nobody tried.
  ///   - protection: The file's protection class; nil when it has none that is known.
  /// - Returns: The state with `isProtectedDataAvailable` where that follows.
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

  /// The protection class of a file, read without opening it; nil where there is none, as on Linux.
  static func protection(ofFileAt path: String) -> FileProtectionType? {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return attributes?[.protectionKey] as? FileProtectionType
  }
}
