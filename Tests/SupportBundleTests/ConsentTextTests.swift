import AgeFiles
import Foundation
import Testing

@testable import SupportBundle

/// What the user is asked before a bundle leaves.
@Suite struct ConsentTextTests {
  private static let languages = ["en", "de", "fr", "es", "nb", "ja", "zh-Hans"]

  private static func requests() throws -> [BundleRequest] {
    var all: [BundleRequest] = []
    for contents in BundleManifest.Contents.allCases {
      for recipient in [nil, try AgeIdentity().recipient.text] {
        all.append(try BundleRequest(contents, recipients: [recipient].compactMap { $0 }))
      }
    }
    var plain = try BundleRequest(.rows)
    plain.redaction = .none
    var listed = try BundleRequest(.rows)
    listed.redaction = .values(
      except: try AllowList(Array("lifeboat-allow 1\nNote.title\n".utf8)))
    return all + [plain, listed]
  }

  /// Each language says something else of each kind of bundle, and leaves no gap.
  @Test(arguments: languages) func everyLanguageSaysAll(_ language: String) throws {
    var texts: [ConsentText] = []
    for request in try Self.requests() {
      let text = request.consentText(app: "Zettel", preferring: [language])
      #expect(text.language == language)
      #expect(text.paragraphs.count == 4)
      let all = [text.title, text.buttons.send, text.buttons.keep] + text.paragraphs
      #expect(all.allSatisfy { !$0.isEmpty && !$0.contains("{") && !$0.contains("  ") })
      #expect(text.paragraphs[0].contains("Zettel"))
      let unnamed = request.consentText(app: "", preferring: [language])
      #expect(!unnamed.paragraphs.joined().contains("{"))
      texts.append(text)
    }
    for (place, text) in texts.enumerated() {
      #expect(!texts[(place + 1)...].contains(text), "\(text.paragraphs)")
    }
    // No language has words of another.
    let english = ConsentWords.english
    let words = try #require(ConsentWords.all[language])
    let pairs = [
      (words.title, english.title), (words.why, english.why), (words.structure, english.structure),
      (words.tokens, english.tokens), (words.listed, english.listed),
      (words.values, english.values), (words.store, english.store), (words.sealed, english.sealed),
      (words.open, english.open), (words.choice, english.choice),
      (words.buttons.keep, english.buttons.keep),
    ]
    #expect(pairs.allSatisfy { ($0 == $1) == (language == "en") })
  }

  @Test func theLanguageIsTheUsers() throws {
    let request = try BundleRequest()
    for (preferred, language) in [
      (["pt-BR", "de-AT"], "de"), (["zh-Hant", "ja-JP"], "ja"), (["no"], "nb"), ([], "en"),
      (["pt"], "en"), (["zh-CN"], "zh-Hans"),
    ] {
      #expect(request.consentText(app: "X", preferring: preferred).language == language)
    }
  }
}
