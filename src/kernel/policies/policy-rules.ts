import type { Caller } from "../../contract/index.ts";
import type { Policy } from "../../provider/index.ts";

/** Where a policy applies. */
export interface PolicyRule {
  /** The name of the policy. */
  readonly policy: string;
  /** Rules with a lower figure come first. */
  readonly order: number;
  /** Empty: every account. */
  readonly accountId: string;
  /** Empty: every key. */
  readonly keyId: string;
  /** Empty: every model. */
  readonly modelId: string;
  /** Whether a call goes on when the policy fails. */
  readonly onFailure: "closed" | "open";
}

/** A policy that applies to a call. */
export interface AppliedPolicy {
  readonly name: string;
  /** Absent: no file has it, so it counts as failed. */
  readonly policy: Policy | undefined;
  readonly onFailure: PolicyRule["onFailure"];
}

/** The rules in force, with the policies that they name. Immutable: a change of either makes new ones. */
export class PolicyRules {
  readonly #rules: readonly PolicyRule[];
  readonly #policies: ReadonlyMap<string, Policy>;

  constructor(rules: readonly PolicyRule[], policies: ReadonlyMap<string, Policy>) {
    // Rules of the gateway come first: an account cannot put its own rules before them.
    const rank = ({ accountId, keyId }: PolicyRule) => (accountId === "" ? 0 : keyId === "" ? 1 : 2);
    this.#rules = rules.toSorted((a, b) => rank(a) - rank(b) || a.order - b.order || (a.policy < b.policy ? -1 : 1));
    this.#policies = policies;
  }

  /**
   * The policies of a call, in their order. One that several rules name runs once, at its first place; it is closed if one of
   * its rules is.
   *
   * @returns `undefined` where none applies.
   */
  find({ accountId, keyId }: Pick<Caller, "accountId" | "keyId">, modelId: string): AppliedPolicy[] | undefined {
    const applied = new Map<string, AppliedPolicy>();
    for (const rule of this.#rules) {
      if (rule.accountId !== "" && rule.accountId !== accountId) continue;
      if (rule.keyId !== "" && rule.keyId !== keyId) continue;
      if (rule.modelId !== "" && rule.modelId !== modelId) continue;
      const { policy: name } = rule;
      const onFailure = applied.get(name)?.onFailure === "closed" ? "closed" : rule.onFailure;
      applied.set(name, { name, policy: this.#policies.get(name), onFailure });
    }
    return applied.size === 0 ? undefined : [...applied.values()];
  }
}
