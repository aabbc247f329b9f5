import { Link, useLocation } from "wouter";
import { maySeeAll } from "../data/roles.ts";
import { type Me, reloadSession, signOut } from "../data/session.ts";
import icon from "../icon.svg";
import { Button } from "../kit/button.tsx";
import { Icon } from "../kit/icon.tsx";
import { Segmented } from "../kit/segmented.tsx";
import { toastError } from "../kit/toast.tsx";
import { setTheme, useTheme } from "../theme.ts";
import { AccountSwitch } from "./account-switch.tsx";
import { adminPages, type PageEntry, userPages } from "./pages.tsx";

const docsUrl = "https://github.com/modelgate/modelgate/tree/main/docs";

const themeOptions = [
  ["system", "System", "screen"],
  ["light", "Light", "sun"],
  ["dark", "Dark", "moon"],
] as const;

/** Links to the pages and the signed-in user; in a sidebar, or in a drawer on small screens. */
export function Navigation({ me }: { me: Me }) {
  const [path] = useLocation();
  const leave = () => signOut().then(reloadSession, toastError);
  return (
    <div className="side">
      <Brand />
      <AccountSwitch me={me} />
      <nav aria-label="Pages" className="nav">
        <Links pages={userPages} path={path} />
        {maySeeAll(me.role) && adminPages.length > 0 && (
          <>
            <span className="nav-title">Administration</span>
            <Links pages={adminPages} path={path} />
          </>
        )}
      </nav>
      <div className="side-end">
        <nav aria-label="Help" className="help">
          <a href="/docs">
            <Icon name="list" size={15} />
            API reference
          </a>
          <a href={docsUrl} target="_blank" rel="noreferrer">
            <Icon name="book" size={15} />
            Documentation
          </a>
        </nav>
        <Segmented label="Theme" value={useTheme()} options={themeOptions} onChoose={setTheme} />
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

function Links({ pages, path }: { pages: readonly PageEntry[]; path: string }) {
  return pages.map((entry) => (
    <Link
      key={entry.path}
      href={entry.path}
      aria-current={path === entry.path || path.startsWith(`${entry.path}/`) ? "page" : undefined}
    >
      <Icon name={entry.icon} />
      {entry.name}
    </Link>
  ));
}
