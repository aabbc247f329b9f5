import { Link, useLocation } from "wouter";
import { changeVisitor, type Me, signOut } from "../data/session.ts";
import icon from "../icon.svg";
import { Icon } from "../ui/icon.tsx";
import { toastError } from "../ui/toast.tsx";
import { adminPages, ownPages, type PageEntry } from "./pages.tsx";
import { ThemeSwitch } from "./theme-switch.tsx";

/** The pages, and who is signed in; beside the page, or in a drawer where there is no room. */
export function Navigation({ me }: { me: Me }) {
  const [path] = useLocation();
  const leave = () => signOut().then(changeVisitor, toastError);
  return (
    <div className="side">
      <Brand />
      <nav aria-label="Pages" className="nav">
        <Links pages={ownPages} path={path} />
        {me.role === "admin" && adminPages.length > 0 && (
          <>
            <span className="nav-title">Administration</span>
            <Links pages={adminPages} path={path} />
          </>
        )}
      </nav>
      <div className="side-end">
        <ThemeSwitch />
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
          <button
            type="button"
            className="btn btn-plain btn-icon"
            aria-label="Sign out"
            title="Sign out"
            onClick={leave}
          >
            <Icon name="out" />
          </button>
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
    <Link key={entry.path} href={entry.path} aria-current={path === entry.path ? "page" : undefined}>
      <Icon name={entry.icon} />
      {entry.name}
    </Link>
  ));
}
