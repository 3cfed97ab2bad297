extension NoticeWords {
  static let japanese = NoticeWords(
    unnamedApp: ("アプリ", "アプリ"), quotes: ("「", "」"), date: date,
    kept: [
      .otherVersion: kept(
        "データが別のバージョンのアプリで保存されていたため、{date}に{app}で開くことができませんでした。",
        "アプリをアップデートすると、以前のデータを再び開けるようになる可能性があります。"),
      .newerVersion: kept(
        "データがより新しいバージョンのアプリで保存されていたため、{date}に{app}で開くことができませんでした。",
        "アプリを最新のバージョンにアップデートしてください。以前のデータを再び開けるようになる可能性があります。"),
      .damaged: kept(
        "データを保存しているファイルが破損しているため、{date}に{app}で開くことができませんでした。",
        "データの少なくとも一部は復元できる場合が多くあります。"),
      .encrypted: kept(
        "{date}に{app}でデータを開くことができませんでした。データは暗号化されているとみられ、正しいキーを使用できませんでした。これは破損を示すものではありません。",
        "正しいキーが使用できるようになれば、データを再び開ける見込みです。"),
      .unreadable: kept(
        "データがあるはずのファイルの内容をアプリで読み取れなかったため、{date}に{app}でデータを開くことができませんでした。",
        "何が起きたかについては、アプリのサポートにお問い合わせいただけます。"),
      .technical: kept(
        "技術的な問題のため、{date}に{app}でデータを開くことができませんでした。",
        "アプリをアップデートすると、以前のデータを再び開けるようになる可能性があります。"),
      .replaced: Incident.Notice(
        title: "以前のデータが元に戻りました",
        whatHappened: "{date}に、以前のデータを元に戻しました。それまで使用していたデータは、別の場所に移しました。",
        whatWasKept: "削除されたものはありません。それまで使用していたデータは、アプリの保存領域に別に分けて、そのままの状態で残っています。",
        whatToDo:
          "必要な操作はありません。それまでのデータの中に必要なものがある場合は、アプリのサポートに連絡し、次の参照番号をお伝えください：{reference}"),
      .newestMissing: Incident.Notice(
        title: "最新の変更が失われている可能性があります",
        whatHappened:
          "{date}に、最新の変更が入ったファイルが破損していることがわかりました。{app}は、残りのデータで動作を続けています。",
        whatWasKept:
          "削除されたものはありません。最新の変更が入ったファイルのコピーが、見つかった時点のままの状態で、アプリの保存領域に残っています。",
        whatToDo:
          "不足しているものがないか確認してください。ある場合は、アプリのサポートに連絡し、次の参照番号をお伝えください：{reference}　失われた部分は、復元できる場合が多くあります。"
      ),
      .restored: Incident.Notice(
        title: "以前のデータが元に戻りました",
        whatHappened: "{date}に{app}でデータを開くことができなかったため、データを別の場所に移しました。その後、データは元に戻りました。",
        whatWasKept: "削除されたものはありません。現在は以前のデータを再び使用しています。",
        whatToDo: "必要な操作はありません。"),
      .putBack: Incident.Notice(
        title: "データは元の場所にそのまま残っています",
        whatHappened:
          "{date}に{app}でデータを開くことができませんでした。新しい空のデータで始めることもできなかったため、データを元の場所に戻しました。",
        whatWasKept: "削除されたものはありません。データは以前のままです。",
        whatToDo: "\(checkSpace)\(contact)"),
    ],
    failed: [
      .otherVersion: FailureNotice(
        title: "データは別のバージョンで保存されています",
        whatHappened: "データが別のバージョンのアプリで保存されているため、{app}で開くことができませんでした。\(untouched)",
        whatToDo: "アプリのアップデートがあるかどうかを確認してください。\(contact)\(keepApp)"),
      .newerVersion: FailureNotice(
        title: "{app}をアップデートしてください",
        whatHappened: "データがより新しいバージョンで保存されているため、このバージョンでは読み取れません。\(untouched)",
        whatToDo:
          "アプリを最新のバージョンにアップデートして、もう一度開いてください。アップデートが見つからない場合は、デバイスのシステムのアップデートも確認してください。\(keepApp)"
      ),
      .damaged: FailureNotice(
        title: "データを開くことができませんでした",
        whatHappened: "データを保存しているファイルが破損しているか、一部が欠けているようです。すべてそのままの状態になっています。\(untouched)",
        whatToDo:
          "データの少なくとも一部は復元できる場合が多くあります。ほかの操作をする前に、アプリのサポートに連絡してください。\(keepApp)"),
      .encrypted: FailureNotice(
        title: "データのロックを解除できませんでした",
        whatHappened:
          "データは暗号化されているとみられますが、{app}では正しいキーを使用できませんでした。これは破損を示すものではありません。\(untouched)",
        whatToDo: "このデータにパスワードを使用している場合は、パスワードを確認して、もう一度お試しください。\(contact)\(keepApp)"),
      .unreadable: FailureNotice(
        title: "データを開くことができませんでした",
        whatHappened: "データがあるはずのファイルの内容を、{app}で読み取ることができませんでした。\(untouched)",
        whatToDo: "アプリのサポートに連絡してください。\(keepApp)"),
      .otherApp: FailureNotice(
        title: "別のアプリのデータがあります",
        whatHappened:
          "{app}がデータを保存する場所に、別のアプリのものと思われるデータがあります。\(untouched)",
        whatToDo:
          "そのデータは別のアプリがまだ必要としている可能性があるため、削除や移動はしないでください。アプリのサポートに連絡してください。"
      ),
      .technical: FailureNotice(
        title: "データを開くことができませんでした",
        whatHappened: "技術的な問題のため、{app}でデータを開くことができませんでした。\(untouched)",
        whatToDo: "\(reopen)\(contact)\(keepApp)"),
      .inUse: FailureNotice(
        title: "データは使用中です",
        whatHappened: "ほかのプログラム、またはアプリの別の部分が現在データを使用しているため、{app}で開くことができませんでした。\(untouched)",
        whatToDo: "しばらく待ってから、もう一度お試しください。問題が続く場合は、デバイスを再起動してください。"),
      .deviceLocked: FailureNotice(
        title: "データはまだロックされています",
        whatHappened: "デバイスがロックされている間はデータが保護されるため、{app}ではまだ開くことができません。\(untouched)",
        whatToDo: "デバイスのロックを解除してから、{app}をもう一度開いてください。"),
      .diskFull: FailureNotice(
        title: "空き容量が足りません",
        whatHappened: "空き容量が少ないため、{app}でデータを開くことができません。\(untouched)",
        whatToDo: "空き容量を増やしてから、{app}をもう一度開いてください。\(keepApp)"),
      .noAccess: FailureNotice(
        title: "データにアクセスできません",
        whatHappened: "データの保存場所に、{app}からアクセスできません。\(untouched)",
        whatToDo:
          "データが外部ドライブやネットワーク上のフォルダにある場合は、接続を確認してください。その後、{app}をもう一度開いてください。\(contact)"),
      .storageFault: FailureNotice(
        title: "ストレージを読み取れませんでした",
        whatHappened:
          "デバイスのストレージの読み書きで問題が起きました。データが破損したという意味ではありません。すべてそのままの状態になっています。",
        whatToDo:
          "デバイスを再起動してから、{app}をもう一度開いてください。また同じことが起きる場合は、デバイスをバックアップし、アプリのサポートに連絡してください。"),
      .momentary: FailureNotice(
        title: "もう一度お試しください",
        whatHappened: "ただいま{app}でデータを開くことができませんでした。通常、これは一時的なものです。\(untouched)",
        whatToDo: "しばらく待ってから、{app}をもう一度開いてください。\(contact)"),
      .newestMissing: FailureNotice(
        title: "最新の変更が失われている可能性があります",
        whatHappened:
          "{app}がデータを開いたとき、最新の変更が入ったファイルが完全な状態ではありませんでした。{app}は、残りのデータで動作を続けています。",
        whatToDo: "不足しているものがないか確認してください。ある場合は、アプリのサポートに連絡してください。"),
      .keepsFailing: FailureNotice(
        title: "今回もデータを開くことができませんでした",
        whatHappened:
          "{app}でデータを開くことができませんでした。同じことが何度か起きているため、今回はすべてをそのままにしました。\(untouched)",
        whatToDo:
          "{app}を引き続き使用できる場合でも、新しい内容は保存されないことがあります。デバイスを再起動し、アプリのアップデートがあるか確認してください。\(contact)\(keepApp)"
      ),
      .inBackground: FailureNotice(
        title: "{app}を開いてください",
        whatHappened: "バックグラウンドではデータを開くことができませんでした。\(untouched)",
        whatToDo: "続けるには、{app}を開いてください。"),
      .putBack: FailureNotice(
        title: "データは元の場所にそのまま残っています",
        whatHappened:
          "{app}でデータを開くことができませんでした。新しい空のデータで始めることもできなかったため、データを元の場所に戻しました。削除されたものはありません。",
        whatToDo: "\(checkSpace)\(contact)"),
    ],
    besideNote: "保管されているデータは、このメモと同じ場所にある「store」フォルダに入っています。",
    inFolder: "保管されているデータは次のフォルダにあります：\n{folder}")

  private static func kept(_ cause: String, _ hope: String) -> Incident.Notice {
    Incident.Notice(
      title: "以前のデータは保管されていますが、開くことができませんでした",
      whatHappened: "\(cause)引き続きお使いいただけるように、{app}は新しい空のデータで開始しました。",
      whatWasKept: "削除されたものはありません。以前のデータは、新しいデータとは別に、アプリの保存領域にそのままの状態で残っています。",
      whatToDo:
        "\(hope)アプリを削除すると、保管されているデータも削除されることがあるため、アプリは削除しないでください。サポートが必要な場合は、アプリのサポートに連絡し、次の参照番号をお伝えください：{reference}"
    )
  }

  private static let untouched = "変更または削除されたものはありません。"
  private static let keepApp = "アプリを削除するとデータも削除されることがあるため、アプリは削除しないでください。"
  private static let contact = "それでも解決しない場合は、アプリのサポートに連絡してください。"
  private static let reopen = "{app}を閉じて、もう一度開いてください。"
  private static let checkSpace = "十分な空き容量があることを確認してから、{app}をもう一度開いてください。"

  /// Formats a time as `2026年11月20日 21:53`.
  private static func date(_ time: Time) -> String {
    "\(time.year)年\(time.month)月\(time.day)日 \(time.hour):\(time.paddedMinute)"
  }
}
