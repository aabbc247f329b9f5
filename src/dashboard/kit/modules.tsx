import { type ComponentType, createContext, type ReactNode, useContext } from "react";
import useSWR from "swr";
import type { IconName } from "./icon.tsx";

/** The places of pages where modules add components, and the props of those. */
export interface Places {
  /** On the billing page, next to the balance. */
  readonly "billing-balance": object;
  readonly "billing-top": object;
  readonly "billing-end": object;
  /** On the home page of operators. */
  readonly "home-cards": object;
  /** At the end of the page of an account, for administrators. */
  readonly "account-end": {
    readonly account: { readonly id: string; readonly label: string };
    readonly mayChange: boolean;
  };
  /** Beside the state of an API key of the own account. */
  readonly "key-badges": { readonly keyId: string };
  readonly "keys-top": object;
  /** In the dialog of a request of the log. */
  readonly "request-detail": { readonly request: { readonly id: string; readonly account: string } };
  /** At the end of the settings of a user. */
  readonly "settings-end": object;
  /** Where a wallet is nearly empty: how to add credit. `ask`: a link to whoever gives credit, if there is one. */
  readonly "credit-help": { readonly ask: ReactNode };
}

/** A page of administrators. */
export interface ModulePage {
  readonly path: string;
  /** The path of the page that it follows in the navigation. */
  readonly after: string;
  readonly name: string;
  readonly icon: IconName;
  /** Page and section of the documentation about it. */
  readonly help: string;
  /** Words that people look for it by, separated by commas. */
  readonly words?: string;
  /** Whether it has a link of its own in the navigation, behind the link of that page. */
  readonly hasLink?: boolean;
  /** The count of its matters that need somebody, in the navigation. */
  readonly count?: { readonly tone: "is-bad" | "is-warn"; readonly name: string };
  /** Its code is loaded when it is opened. */
  readonly load: () => Promise<{ default: ComponentType }>;
}

export type AuditDetail = Readonly<Record<string, string | number | boolean | null>>;

/** Texts of the audit log. */
export interface AuditTexts {
  /** Names of actors that are not accounts. */
  readonly actors?: Readonly<Record<string, string>>;
  /** The sentences of actions. */
  readonly sentences: Readonly<Record<string, (detail: AuditDetail, subject: string) => string>>;
  readonly groups: readonly AuditGroup[];
}

/** Actions by what they are done with; the whole group can be chosen as well. */
export interface AuditGroup {
  readonly name: string;
  readonly label: string;
  readonly actions: Readonly<Record<string, string>>;
  /** The group that it follows; absent: it is one of the gateway's own. */
  readonly after?: string;
}

/** Additions of a module to the dashboard. */
export interface PageModule {
  readonly pages?: readonly ModulePage[];
  /** Its parts of other pages; their code is loaded after the first page is there. */
  readonly load: () => Promise<{ readonly parts: ModuleParts }>;
}

export interface ModuleParts {
  readonly places?: { readonly [Name in keyof Places]?: ComponentType<Places[Name]> };
  readonly audit?: AuditTexts;
}

const Modules = createContext<readonly PageModule[]>([]);

export const ModulesProvider = Modules.Provider;

export const useModules = () => useContext(Modules);

/** The parts of all modules; none until they are loaded. */
export function useParts(): readonly ModuleParts[] {
  const modules = useModules();
  const read = () => Promise.all(modules.map(async ({ load }) => (await load()).parts));
  return useSWR("parts", read, { revalidateOnFocus: false, revalidateIfStale: false }).data ?? noParts;
}

const noParts: readonly ModuleParts[] = [];

/** The components of modules at a place. */
export function usePlace<Name extends keyof Places>(name: Name): readonly ComponentType<Places[Name]>[] {
  return useParts().flatMap(({ places }) => places?.[name] ?? []);
}

/** Puts entries behind those that they follow; one that follows none comes last. */
export function insertAfter<Entry, Added extends { readonly after?: string }>(
  entries: readonly Entry[],
  added: readonly (Added & Entry)[],
  nameOf: (entry: Entry) => string,
): Entry[] {
  const list = [...entries];
  for (const entry of added) {
    const place = list.findIndex((each) => nameOf(each) === entry.after);
    list.splice(place === -1 ? list.length : place + 1, 0, entry);
  }
  return list;
}
