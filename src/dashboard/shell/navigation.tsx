import { useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";
import { maySeeAll } from "../data/roles.ts";
import { type Me, reloadSession } from "../data/session.ts";
import { setZone, useZone } from "../data/time-zone.ts";
import { signOut } from "../features/auth/sign-out.ts";
import { useAttention } from "../features/providers/api.ts";
import icon from "../icon.svg";
import { Button } from "../kit/button.tsx";
import { Icon } from "../kit/icon.tsx";
import { useModules } from "../kit/modules.tsx";
import { Segmented } from "../kit/segmented.tsx";
import { toastError } from "../kit/toast.tsx";
import { setTheme, useTheme } from "../theme.ts";
import { AccountSwitch } from "./account-switch.tsx";
import { type PageLink, useLinks } from "./pages.tsx";

const themeOptions = [
  ["system", "System", "screen"],
  ["light", "Light", "sun"],
  ["dark", "Dark", "moon"],
] as const;

const zoneOptions = [
  ["utc", "UTC"],
  ["local", "Local"],
] as const;

/** Links to the pages and the signed-in user; in a sidebar, or in a drawer on small screens. */
export function Navigation({ me, onSearch }: { me: Me; onSearch?: () => void }) {
  const [path] = useLocation();
  const counts = useCounts(maySeeAll(me.role));
  const nav = useRef<HTMLElement>(null);
  // The list of an operator is longer than most screens.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the link of the page is another one after each navigation
  useEffect(() => {
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [path]);
  const leave = () => signOut().then(reloadSession, toastError);
  return (
    <div className="side">
      <Brand />
      <AccountSwitch me={me} />
      {onSearch !== undefined && (
        <Button look="search" icon="search" aria-keyshortcuts="Control+K" onClick={onSearch}>
          Go to… <kbd>Ctrl K</kbd>
        </Button>
      )}
      <nav aria-label="Pages" className="nav" ref={nav}>
        {useLinks(me.role).map((links) => (
          <div key={links[0]?.name} className="nav-group">
            <Links links={links} path={path} counts={counts} />
          </div>
        ))}
      </nav>
      <div className="side-end">
        <nav aria-label="Help" className="help">
          <a href="/docs">
            <Icon name="list" size={15} />
            API reference
          </a>
          <Link href="/help" aria-current={path === "/help" || path.startsWith("/help/") ? "page" : undefined}>
            <Icon name="book" size={15} />
            Documentation
          </Link>
        </nav>
        <div className="row side-choices">
          <Segmented label="Theme" value={useTheme()} options={themeOptions} onChoose={setTheme} />
          <Segmented label="Time zone" value={useZone()} options={zoneOptions} onChoose={setZone} />
        </div>
        <div className="row row-apart">
          <Link href="/settings" className="who cut" aria-current={path === "/settings" ? "page" : undefined}>
            <span className="who-mark" aria-hidden="true">
              {(me.name || me.email).slice(0, 1).toUpperCase()}
            </span>
            <span className="who-text">
              <strong className="cut">{me.name}</strong>
              <span className="cut soft">{me.name === me.email ? "Account settings" : me.email}</span>
            </span>
          </Link>
          <Button look="plain icon" icon="out" iconSize={18} aria-label="Sign out" title="Sign out" onClick={leave} />
        </div>
      </div>
    </div>
  );
}

export function Brand() {
  return (
    <Link href="/" className="brand">
      <img src={icon} alt="" />
      modelgate
    </Link>
  );
}

/** Number of things on a page that need attention. */
interface Count {
  readonly value: number;
  readonly tone: "is-bad" | "is-warn";
  /** The name of the count, for screen readers. */
  readonly name: string;
}

/** The open matters, by the address of the page that shows them. */
function useCounts(isStaff: boolean): Readonly<Record<string, Count>> {
  const { data } = useAttention(isStaff);
  const pages = useModules().flatMap((module) => module.pages ?? []);
  if (data === undefined) return {};
  const ofModules = pages.flatMap(({ path, count }) =>
    count === undefined ? [] : [[path, { ...count, value: data.pages[path] ?? 0 }] as const],
  );
  const { failing, degraded } = data.providers;
  return {
    "/admin/providers":
      failing > 0
        ? { value: failing, tone: "is-bad", name: "failing" }
        : { value: degraded, tone: "is-warn", name: "degraded" },
    ...Object.fromEntries(ofModules),
  };
}

function Links({
  links,
  path,
  counts,
}: {
  links: readonly PageLink[];
  path: string;
  counts: Readonly<Record<string, Count>>;
}) {
  return links.map(({ name, icon, pages }) => {
    const first = pages[0]?.path ?? "/";
    const isShown = pages.some((page) => path === page.path || path.startsWith(`${page.path}/`));
    return (
      <Link key={first} href={first} aria-current={isShown ? "page" : undefined}>
        <Icon name={icon} />
        {name}
        <CountBadge count={counts[first]} />
      </Link>
    );
  });
}

/** The pages behind one link of the navigation, above each of them. */
export function PageTabs({ me, path }: { me: Me; path: string }) {
  const link = useLinks(me.role)
    .flat()
    .find(({ pages }) => pages.length > 1 && pages.some((page) => page.path === path));
  if (link === undefined) return null;
  return (
    <nav aria-label={link.name} className="seg tabs">
      {link.pages.map((page) => (
        <Link key={page.path} href={page.path} aria-current={page.path === path ? "page" : undefined}>
          {page.name}
        </Link>
      ))}
    </nav>
  );
}

function CountBadge({ count }: { count: Count | undefined }) {
  if (count === undefined || count.value === 0) return null;
  return (
    <span className={`count ${count.tone}`} title={`${count.value} ${count.name}`}>
      {count.value}
      <span className="unseen"> {count.name}</span>
    </span>
  );
}
