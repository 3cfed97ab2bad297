import StoreExtraction
import Testing

@Suite struct ExactTextTests {
  /// Texts are the same when all their bytes are; no text is the same as a missing one, and not the empty one either.
  @Test(
    arguments: [
      ("caf\u{e9}", "caf\u{e9}", true), ("caf\u{e9}", "cafe\u{301}", false), (nil, nil, true),
      ("", nil, false), (nil, "", false), ("", "", true),
    ] as [(String?, String?, Bool)])
  func optionalTexts(_ one: String?, _ other: String?, _ areSame: Bool) {
    #expect(ExactText.isSame(one, other) == areSame)
  }
}
