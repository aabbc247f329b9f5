import { type ReactNode, Suspense, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import type { Me } from "../data/session.ts";
import { Icon } from "../ui/icon.tsx";
import { PageHead } from "../ui/page.tsx";
import { Empty, Skeleton } from "../ui/states.tsx";
import { Boundary } from "./boundary.tsx";
import { Brand, Navigation } from "./navigation.tsx";
import { adminPages, ownPages, settingsPage } from "./pages.tsx";

/** What surrounds every page of somebody who is signed in. */
export function Shell({ me }: { me: Me }) {
  const [path] = useLocation();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  // Another page: read from its begin, by eye and by screen reader.
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [path]);
  const pages = me.role === "admin" ? [...ownPages, ...adminPages] : ownPages;
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <Navigation me={me} />
      <div>
        <TopBar me={me} />
        <main id="content" className="main" ref={main} tabIndex={-1}>
          <Boundary key={path}>
            <Suspense fallback={<Skeleton lines={6} />}>
              <Switch>
                {pages.map((entry) => (
                  <Route key={entry.path} path={entry.path} component={entry.page} />
                ))}
                <Route path="/settings" component={settingsPage} />
                <Route component={NotFound} />
              </Switch>
            </Suspense>
          </Boundary>
        </main>
      </div>
    </div>
  );
}

/** In the place of the navigation on a phone. */
function TopBar({ me }: { me: Me }) {
  const [isOpen, setOpen] = useState(false);
  const [path] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: closed by each way to another page
  useEffect(() => setOpen(false), [path]);
  return (
    <div className="topbar">
      <Brand />
      <button
        type="button"
        className="btn btn-plain btn-icon"
        aria-label="Open the navigation"
        onClick={() => setOpen(true)}
      >
        <Icon name="menu" size={20} />
      </button>
      {isOpen && (
        <Drawer onClose={() => setOpen(false)}>
          <Navigation me={me} />
        </Drawer>
      )}
    </div>
  );
}

function Drawer({ onClose, children }: { onClose: () => void; children: ReactNode }) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const drawer = element.current;
    drawer?.showModal();
    return () => drawer?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, as every dialog
    <dialog
      ref={element}
      className="drawer"
      aria-label="Navigation"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === element.current && onClose()}
    >
      {children}
    </dialog>
  );
}

function NotFound() {
  return (
    <>
      <PageHead title="Not found" />
      <div className="card">
        <Empty icon="search" title="There is no such page">
          <p>It may have moved, or it is not for your role.</p>
          <div className="row">
            <Link href="/" className="btn">
              To the overview
            </Link>
          </div>
        </Empty>
      </div>
    </>
  );
}
