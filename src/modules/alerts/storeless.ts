import type { Smtp } from "../../mail/index.ts";
import { type Channel, isTakenBy, type Target } from "./channels.ts";
import { type AlertMessage, type AlertNotice, createMessage } from "./message.ts";
import { toLink, toPage } from "./pages.ts";
import type { Finding, Thresholds } from "./rules.ts";
import { toEpisodeId } from "./subject.ts";

/** A channel that could not be reached is tried again after this. */
const retryMs = 30_000;
/** How often that a problem is over is tried to be sent. */
const resolvedTriesMax = 10;

/** A channel with where it leads. */
export interface OpenChannel {
  readonly channel: Channel;
  readonly target: Target;
}

/** All that sending the gateway's alerts needs, as the database had it last. */
export interface Remembered {
  readonly channels: readonly OpenChannel[];
  readonly smtp: Smtp | undefined;
  readonly thresholds: Thresholds;
  /** Keys of alerts. */
  readonly muted: ReadonlySet<string>;
  /** Since when alerts are firing, by their keys. */
  readonly startedAt: ReadonlyMap<string, number>;
}

/** An alert that was sent without the database. */
export interface ToldAlert {
  readonly at: number;
  readonly level: number;
}

interface Telling {
  readonly finding: Finding;
  readonly since: number;
  status: AlertNotice["status"];
  /** Channels that have not got the message yet. */
  waiting: OpenChannel[];
  readonly reached: OpenChannel[];
  triedAt: number;
  tries: number;
  /** The database has it, and sends when it is over. */
  isHandedOver: boolean;
}

interface StorelessOptions {
  readonly send: (channel: OpenChannel, message: AlertMessage, smtp: Smtp | undefined) => Promise<void>;
  /** Identifies an alert among those of now. */
  readonly keyOf: (finding: Finding) => string;
  readonly publicUrl: string | undefined;
}

/**
 * Sends a process's alerts about itself while the database cannot be used; all other alerts wait for the database. It
 * uses the channels and rules that it has in memory. Every process sends its own alerts, because processes cannot
 * coordinate.
 */
export class StorelessAlerts {
  readonly #options: StorelessOptions;
  readonly #told = new Map<string, Telling>();
  #remembered: Remembered = { channels: [], smtp: undefined, thresholds: {}, muted: new Set(), startedAt: new Map() };

  constructor(options: StorelessOptions) {
    this.#options = options;
  }

  get thresholds(): Thresholds {
    return this.#remembered.thresholds;
  }

  remember(remembered: Remembered): void {
    this.#remembered = remembered;
  }

  /**
   * Sends new findings, and the end of findings that were sent.
   *
   * @param isNewSent Whether to send new findings; otherwise they are left to the database.
   */
  async tell(findings: readonly Finding[], at: number, isNewSent: boolean): Promise<void> {
    const { channels, muted, startedAt } = this.#remembered;
    const ids = new Set<string>();
    for (const finding of findings) {
      const id = this.#options.keyOf(finding);
      ids.add(id);
      if (!isNewSent || this.#told.has(id) || muted.has(id) || channels.length === 0) continue;
      const never = { triedAt: Number.NEGATIVE_INFINITY, tries: 0, isHandedOver: false };
      const { rule, severity, subject: subjectKey } = finding;
      const waiting = channels.filter(({ channel }) => isTakenBy(channel, { rule, severity, subjectKey }));
      // One that the database sent already goes on as the same one.
      const since = startedAt.get(id) ?? at;
      this.#told.set(id, { finding, since, status: "firing", waiting, reached: [], ...never });
    }
    for (const [id, telling] of this.#told) {
      if (telling.isHandedOver) {
        if (!ids.has(id)) this.#told.delete(id);
        continue;
      }
      if (telling.status === "firing" && !ids.has(id)) {
        const { reached } = telling;
        Object.assign(telling, {
          status: "resolved",
          waiting: [...reached],
          triedAt: Number.NEGATIVE_INFINITY,
          tries: 0,
        });
      }
      await this.#send(telling, at);
      const isOver = telling.waiting.length === 0 || telling.tries >= resolvedTriesMax;
      if (telling.status === "resolved" && isOver) this.#told.delete(id);
    }
  }

  /** The findings that were already sent, to be recorded as sent when the database is back. */
  listTold(findings: readonly Finding[]): ReadonlyMap<string, ToldAlert> {
    const alerts = new Map<string, ToldAlert>();
    for (const finding of findings) {
      const id = this.#options.keyOf(finding);
      const telling = this.#told.get(id);
      if (telling === undefined || telling.reached.length === 0) continue;
      alerts.set(id, { at: telling.since, level: telling.finding.level });
    }
    return alerts;
  }

  /** Leaves alerts to the database, which has them now. */
  handOver(alerts: ReadonlyMap<string, ToldAlert>): void {
    for (const id of alerts.keys()) {
      const telling = this.#told.get(id);
      if (telling !== undefined) telling.isHandedOver = true;
    }
  }

  async #send(telling: Telling, at: number): Promise<void> {
    const { waiting, status, finding, since } = telling;
    if (waiting.length === 0 || at - telling.triedAt < retryMs) return;
    telling.triedAt = at;
    telling.tries += 1;
    const { publicUrl, keyOf } = this.#options;
    const { rule, text, severity, about } = finding;
    const notice: AlertNotice = {
      id: toEpisodeId(keyOf(finding), since),
      rule,
      status,
      severity,
      subject: { type: about.type, id: about.id, name: about.name },
      text,
      link: toLink(publicUrl, toPage(finding, true)),
      started_at: new Date(since).toISOString(),
      resolved_at: status === "resolved" ? new Date(at).toISOString() : null,
    };
    const message = createMessage([notice], publicUrl);
    const failed = await Promise.all(
      waiting.map(async (channel) => {
        try {
          await this.#options.send(channel, message, this.#remembered.smtp);
          if (status === "firing") telling.reached.push(channel);
          return [];
        } catch {
          return [channel];
        }
      }),
    );
    telling.waiting = failed.flat();
  }
}
