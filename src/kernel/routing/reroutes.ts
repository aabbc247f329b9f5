import type { Model } from "../../provider/index.ts";

/** An operator's order: while it lasts, another model answers for a model, or for the models of a provider. */
export interface Reroute {
  /** Whether `name` is a model, or a provider whose models are meant. */
  readonly subject: "model" | "provider";
  /** The id of the model, or the name of the provider. */
  readonly name: string;
  /** The id of the model that answers; absent: other routes of the same model alone. */
  readonly toModel?: string | undefined;
  /** Milliseconds since 1970; absent: until it is removed. */
  readonly untilMs?: number | undefined;
}

/** A model that nothing serves now, and the providers that would. */
export interface UnservedModel {
  readonly model: Model;
  readonly providers: readonly string[];
}

/** The re-routes by what they are about. An ended one has no effect, whether it is still listed or not. */
export class Reroutes {
  readonly isEmpty: boolean;
  readonly #bySubject: ReadonlyMap<string, Reroute>;

  constructor(all: readonly Reroute[] = []) {
    this.isEmpty = all.length === 0;
    this.#bySubject = new Map(all.map((one) => [keyOf(one.subject, one.name), one]));
  }

  /** The one of a model or provider that is in force. @param at Milliseconds since 1970. */
  find(subject: Reroute["subject"], name: string, at: number): Reroute | undefined {
    const reroute = this.#bySubject.get(keyOf(subject, name));
    return reroute?.untilMs !== undefined && reroute.untilMs <= at ? undefined : reroute;
  }
}

function keyOf(subject: Reroute["subject"], name: string): string {
  return `${subject} ${name}`;
}
