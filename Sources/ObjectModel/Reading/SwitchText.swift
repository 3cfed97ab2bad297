/// What the text of a switch in a model's source says.
package enum SwitchText {
  /// YES and NO, as Xcode writes nearly all of them, true and false, as its own template has one, 1 and 0, in
  /// whatever case; empty text is no. Nil for any other text.
  package static func value(_ text: String) -> Bool? {
    switch text.lowercased() {
    case "yes", "true", "1": true
    case "no", "false", "0", "": false
    default: nil
    }
  }
}
