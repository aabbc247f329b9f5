import { useEffect, useId, useState } from "react";
import useSWR from "swr";
import { useLocation } from "wouter";
import { api, request } from "../data/api.ts";
import { maySeeAll } from "../data/roles.ts";
import type { Me } from "../data/session.ts";
import { findSections, loadSections } from "../features/help/sections.ts";
import { useModelNames, useModels } from "../features/models/api.ts";
import { Modal } from "../kit/dialog.tsx";
import { Icon, type IconName } from "../kit/icon.tsx";
import { useLinks } from "./pages.tsx";

interface Hit {
  readonly path: string;
  readonly name: string;
  /** The kind of the entry, or more about it. */
  readonly note: string;
  readonly icon: IconName;
  /** Words that people look for it by, apart from its name. */
  readonly words?: string | undefined;
}

const hitsMax = 12;
/** Shorter words fit too much. */
const searchedLengthMin = 2;
const settleMs = 200;

/** Goes to any page, model, request, account or key by a part of its name. */
export default function Palette({ me, onClose }: { me: Me; onClose: () => void }) {
  const [, navigate] = useLocation();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const id = useId();
  const hits = useHits(me, text.trim());
  const open = (hit: Hit | undefined) => {
    if (hit === undefined) return;
    onClose();
    navigate(hit.path);
  };
  const move = (by: number) => setChosen((place) => Math.max(0, Math.min(hits.length - 1, place + by)));
  return (
    <Modal className="dialog palette" aria-label="Go to" onClose={onClose}>
      <div className="dialog-body">
        <input
          className="input"
          type="search"
          role="combobox"
          aria-label="Go to a page, model, request, account or key"
          aria-expanded={hits.length > 0}
          aria-controls={id}
          aria-activedescendant={hits.length > 0 ? `${id}-${chosen}` : undefined}
          placeholder="Page, model, request ID…"
          maxLength={200}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setChosen(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown") move(1);
            else if (event.key === "ArrowUp") move(-1);
            else if (event.key === "Enter") open(hits[chosen]);
            else return;
            event.preventDefault();
          }}
        />
        <div id={id} role="listbox" aria-label="Results" className="palette-hits">
          {hits.map((hit, place) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys
            // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field
            <div
              key={`${hit.path} ${hit.name}`}
              id={`${id}-${place}`}
              role="option"
              aria-selected={place === chosen}
              onClick={() => open(hit)}
            >
              <Icon name={hit.icon} size={16} />
              <span className="cut">{hit.name}</span>
              <span className="faint cut">{hit.note}</span>
            </div>
          ))}
        </div>
        {text.trim() !== "" && hits.length === 0 && (
          <p className="faint" role="status">
            Nothing fits.
          </p>
        )}
      </div>
    </Modal>
  );
}

function useHits(me: Me, text: string): readonly Hit[] {
  const query = text.toLowerCase();
  const { data: models } = useModels();
  const nameOf = useModelNames();
  const isSearched = query.length >= searchedLengthMin;
  const searched = useSettled(text);
  const { data } = useSWR(isSearched && searched === text ? ["palette", text] : null, () => search(me, text, nameOf), {
    dedupingInterval: 5000,
  });
  const results = data ?? [];
  const pages = useLinks(me.role)
    .flat()
    .flatMap((link) =>
      link.pages.map(({ path, name, icon, words }): Hit => {
        const note = link.name === name ? "page" : link.name;
        return { path, name, icon, note, words };
      }),
    );
  const others: Hit[] = [
    { path: "/settings", name: "Account settings", icon: "settings", note: "page" },
    { path: "/statement", name: "Monthly statement", icon: "billing", note: "page" },
  ];
  const modelHits = (models?.data ?? []).map(
    ({ name, ownedBy }): Hit => ({
      path: `/models?model=${encodeURIComponent(name)}`,
      name,
      icon: "models",
      note: `model of ${ownedBy}`,
    }),
  );
  const fits = ({ name }: Hit) => name.toLowerCase().includes(query);
  const isMeant = (hit: Hit) =>
    !fits(hit) &&
    isSearched &&
    (hit.words ?? otherWords[hit.path] ?? "").split(",").some((word) => word.startsWith(query));
  const all = [...pages, ...others];
  const local = [...all.filter(fits), ...all.filter(isMeant)];
  const further = isSearched ? [...modelHits.filter(fits), ...results] : [];
  const isHelpAsked = isSearched && searched === text && local.length + further.length < hitsMax;
  const { data: sections = [] } = useSWR(isHelpAsked ? "help" : null, loadSections, helpIsKept);
  const helpHits = findSections(sections, query).map(({ page, heading, address }): Hit => {
    return { path: address, name: heading, icon: "book", note: page === heading ? "documentation" : page };
  });
  return [...local, ...further, ...(isHelpAsked ? helpHits : [])].slice(0, hitsMax);
}

const helpIsKept = { revalidateOnFocus: false, revalidateIfStale: false } as const;

/** Words that people look for a page by, apart from its name; pages of modules have theirs. */
const otherWords: Readonly<Record<string, string>> = {
  "/": "dashboard,start,first steps",
  "/requests": "logs,calls,history,errors,failures,traces,why",
  "/sessions": "agents,runs,conversations,tree,subagents",
  "/admin/live": "running,in flight,cancel,end a call",
  "/admin/gateway": "spend,costs,analytics,statistics,tokens,reports,users,metrics,movers",
  "/overview": "wallet,quota,balance",
  "/statistics": "spend,costs,analytics,statistics,tokens,reports",
  "/models": "prices,catalog,list,context,compare",
  "/admin/catalogue": "virtual models,aliases,fallbacks,routes,pricing,margin,markup,add a model,catalog",
  "/admin/providers":
    "upstream,credentials,fallbacks,routes,re-route,health,openai,anthropic,azure,bedrock,vertex,ollama,sandbox",
  "/status": "health,uptime,incidents,availability,outage",
  "/keys": "tokens,secrets,create,rotate,limits,budgets",
  "/admin/api-keys": "leaked,find,secrets,users,tokens",
  "/admin/keys": "management keys,scim,automation,terraform,tokens",
  "/billing": "invoices,credit,top up,wallet,pay,balance,money,refund",
  "/admin/accounts": "users,people,teams,invite,members,credit,refund,reverse,top up,disable,leavers,quota",
  "/admin/budgets": "caps,spend,guards,guardrails,maximum,quota,rate limits,nobody spends more,roles,sessions",
  "/admin/groups": "scim,identity provider,idp,directory,okta,entra,roles,teams,sso,provisioning",
  "/team": "members,invite,people,colleagues,leave",
  "/playground": "chat,try,test,images,speech,transcribe",
  "/connect": "sdk,curl,codex,claude code,set-up,setup,base url,python,cursor",
  "/admin/settings": "environment,variables,guardrails,policies,issuers,sso,oidc,jwt,settings,smtp,mail",
  "/admin/audit": "changes,history,who,compliance",
  "/settings": "password,two-step,2fa,profile,sessions,email,passkey,alerts",
  "/statement": "invoices,receipt,month,csv",
};

/** Returns the text once typing has paused: each search sends three requests. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), settleMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

/** Searches requests by their own id or the client's id, and, for users who see all accounts, accounts and keys. */
async function search(me: Me, text: string, nameOf: (model: string) => string): Promise<Hit[]> {
  const isId = /^[\w-]{6,}$/.test(text);
  const [requests, accounts, keys] = await Promise.all([
    isId ? request(api.requests.get({ query: { text } })) : undefined,
    maySeeAll(me.role) ? request(api.admin.accounts.get({ query: { search: text } })) : undefined,
    maySeeAll(me.role) ? request(api.admin["api-keys"].get({ query: { search: text, state: "all" } })) : undefined,
  ]);
  return [
    ...(accounts?.data ?? []).slice(0, 5).map(
      ({ id, label, name }): Hit => ({
        path: `/admin/accounts/${id}`,
        name: label,
        icon: "accounts",
        note: name ?? "account",
      }),
    ),
    ...(keys?.data ?? []).slice(0, 5).map(
      ({ id, name, account_name }): Hit => ({
        path: `/admin/api-keys?state=all&search=${encodeURIComponent(id)}`,
        name,
        icon: "key",
        note: `key of ${account_name}`,
      }),
    ),
    ...(requests?.data ?? []).slice(0, 3).map(
      ({ id, model }): Hit => ({
        path: `/requests?request=${encodeURIComponent(id)}`,
        name: id,
        icon: "list",
        note: `request${model === null ? "" : ` to ${nameOf(model)}`}`,
      }),
    ),
  ];
}
