import Foundation
import Testing

@testable import StoreRecovery

@Suite struct IncidentTextsLanguageTests {
  @Test(arguments: [
    (["de-AT", "en"], "de"), (["DE"], "de"), (["de_DE.UTF-8"], "de"), (["de-1996"], "de"),
    (["fr-CA"], "fr"), (["es-419"], "es"), (["en-001"], "en"), (["en-GB-oxendict"], "en"),
    (["no"], "nb"), (["nb-NO"], "nb"), (["nn"], "nb"), (["nn-NO", "de"], "nb"), (["nor"], "nb"),
    (["ja-JP"], "ja"), (["ja-Jpan-JP"], "ja"), (["de-Latn-DE"], "de"),
    (["zh"], "zh-Hans"), (["zh-CN"], "zh-Hans"), (["zh-SG"], "zh-Hans"),
    (["zh-Hans"], "zh-Hans"), (["zh-Hans-HK"], "zh-Hans"), (["zh_Hans_CN"], "zh-Hans"),
    (["zh-cmn-Hans-CN"], "zh-Hans"), (["cmn-Hans"], "zh-Hans"),
    (["zh-Hant"], "en"), (["zh-TW"], "en"), (["zh-HK"], "en"), (["zh-Hant-CN"], "en"),
    (["zh-TW", "ja"], "ja"), (["it", "pt", "fr", "de"], "fr"),
    (["it"], "en"), ([], "en"), ([""], "en"), (["-"], "en"), (["x-private"], "en"), (["C"], "en"),
    (["dëutsch", "fr"], "fr"), (["deu"], "en"), (["de-u-co-phonebk"], "de"),
    (["en-u-rg-dezzzz"], "en"),
  ])
  func choice(preferred: [String], expected: String) {
    let texts = IncidentTexts(preferring: preferred)
    #expect(texts.notice(of: .inUse, app: "Done").language == expected, "\(preferred)")
    #expect(
      incidentOnPaper(.corrupt, texts: texts).notice.language == expected, "\(preferred)")
  }

  @Test func hostAddsTraditionalChinese() {
    var texts = IncidentTexts(preferring: ["zh-TW"])
    texts.words["zh-Hant"] = texts.words["zh-Hans"]
    #expect(texts.notice(of: .inUse, app: "Done").language == "zh-Hant")
  }

  // MARK: Dates

  /// The first sentence of a notice, with the time given.
  private func sentence(_ tag: String, _ time: Double, zone: TimeZone?) -> String {
    var incident = incidentOnPaper(.corrupt)
    let texts = IncidentTexts(preferring: [tag], timeZone: zone)
    incident = Incident(
      Judgement(evidence: incident.evidence, verdict: incident.verdict), app: incident.app,
      storeName: "a", id: "a", folder: "a", created: Date(timeIntervalSince1970: time),
      kind: .setAside, texts: texts)
    return incident.notice.whatHappened
  }

  @Test(arguments: [
    ("en-US", "On November 20, 2026 at 9:53 PM, Done could"),
    ("en", "On 20 November 2026 at 21:53, Done could"),
    ("en-GB", "On 20 November 2026 at 21:53, Done could"),
    ("de", "Am 20. November 2026 um 21:53 Uhr konnte „Done“"),
    ("fr", "Le 20 novembre 2026 à 21\u{A0}h\u{A0}53, «\u{A0}Done\u{A0}» n’a pas pu"),
    ("es", "El 20 de noviembre de 2026 a las 21:53, “Done” no pudo"),
    ("nb", "20. november 2026 kl. 21.53 kunne «Done» ikke"),
    ("ja", "2026年11月20日 21:53に「Done」で"),
    ("zh-Hans", "2026年11月20日 21:53，“Done”未能"),
  ])
  func dates(tag: String, part: String) {
    let text = sentence(tag, 1_795_211_587, zone: TimeZone(secondsFromGMT: 0))
    #expect(text.contains(part), "\(text)")
  }

  @Test(arguments: [
    ("en-US", "On January 1, 2027 at 12:05 AM,"), ("en", "On 1 January 2027 at 00:05,"),
    ("fr", "Le 1er janvier 2027 à 0\u{A0}h\u{A0}05,"), ("es", "El 1 de enero de 2027 a las 0:05,"),
    ("nb", "1. januar 2027 kl. 00.05 "), ("de", "Am 1. Januar 2027 um 00:05 Uhr "),
    ("ja", "2027年1月1日 0:05に"),
  ])
  func firstMinutesOfAYear(tag: String, part: String) {
    // 2026-12-31 23:05 UTC, one hour further east.
    let text = sentence(tag, 1_798_758_300, zone: TimeZone(secondsFromGMT: 3600))
    #expect(text.contains(part), "\(text)")
  }

  @Test func hoursThatAreSpecial() {
    let noon = sentence("en-US", 1_798_718_400, zone: TimeZone(secondsFromGMT: 0))
    #expect(noon.contains("at 12:00 PM"))
    let one = sentence("es", 1_798_765_500, zone: TimeZone(secondsFromGMT: 0))
    #expect(one.contains("a la 1:05"))
  }

  @Test func summerTime() throws {
    // Oslo, one hour before and after the clocks went forward on 29 March 2026.
    let oslo = try #require(TimeZone(identifier: "Europe/Oslo"))
    #expect(sentence("nb", 1_774_744_200, zone: oslo).contains("kl. 01.30"))
    #expect(sentence("nb", 1_774_747_800, zone: oslo).contains("kl. 03.30"))
  }

  @Test(arguments: [-1e300, 1e300, .infinity, .nan, -62_167_219_200, 253_402_300_799])
  func wrongClocks(time: Double) {
    for tag in IncidentTextsTests.languages {
      for zone in [nil, TimeZone(secondsFromGMT: 50_400), TimeZone(secondsFromGMT: -43_200)] {
        #expect(!sentence(tag, time, zone: zone).isEmpty)
      }
    }
  }
}
