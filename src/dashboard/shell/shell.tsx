import { Component, type ComponentType, type ReactNode, useEffect, useRef, useState } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { mayAdminister, maySeeAll } from "../data/roles.ts";
import type { Me } from "../data/session.ts";
import { useZone } from "../data/time-zone.ts";
import { Button } from "../kit/button.tsx";
import { Modal } from "../kit/dialog.tsx";
import { Empty, LoadError } from "../kit/feedback.tsx";
import { HelpOfPage, PageHead } from "../kit/page.tsx";
import { Brand, Navigation, PageTabs } from "./navigation.tsx";
import { Notices } from "./notices.tsx";
import { helpPage, otherPages, useLinks } from "./pages.tsx";

export function Shell({ me }: { me: Me }) {
  const [path] = useLocation();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  // After navigation, scroll to the top and move the focus for screen readers.
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    // A page scrolls to the section of its address by itself.
    if (location.hash === "") scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [path]);
  const pages = [
    ...useLinks(me.role)
      .flat()
      .flatMap((link) => link.pages),
    ...otherPages.filter((page) => !page.path.startsWith("/admin/") || maySeeAll(me.role)),
  ];
  const zone = useZone();
  const [isSearching, setSearching] = useState(false);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey)
        return;
      // A dialog that is open keeps the keyboard.
      if (document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      setSearching(true);
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to content
      </a>
      {isSearching && <LazyDialog load={() => import("./palette.tsx")} me={me} onClose={() => setSearching(false)} />}
      <aside className="side-box" aria-label="Sidebar">
        <Navigation me={me} onSearch={() => setSearching(true)} />
      </aside>
      <div>
        <TopBar me={me} />
        <Notices isAdmin={mayAdminister(me.role)} />
        <main id="content" className="main" ref={main} tabIndex={-1}>
          <PageTabs me={me} path={path} />
          <ErrorBoundary key={`${path} ${zone}`}>
            <Switch>
              {pages.map(({ path: each, help, page }) => (
                <Route key={each} path={each}>
                  <HelpOfPage value={help}>{page}</HelpOfPage>
                </Route>
              ))}
              <Route path="/help/*?">{helpPage}</Route>
              <Route component={NotFound} />
            </Switch>
          </ErrorBoundary>
        </main>
      </div>
    </div>
  );
}

/** Confines an error of a page to that page. */
class ErrorBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="card">
        <LoadError error={error} onRetry={() => location.reload()} />
      </div>
    );
  }
}

/** A dialog whose code is loaded when it is opened first. */
function LazyDialog<Props extends object>({
  load,
  ...props
}: { load: () => Promise<{ default: ComponentType<Props> }> } & Props) {
  const [Dialog, setDialog] = useState<ComponentType<Props>>();
  // biome-ignore lint/correctness/useExhaustiveDependencies: loaded once
  useEffect(() => {
    void load().then(
      (module) => setDialog(() => module.default),
      () => undefined,
    );
  }, []);
  return Dialog !== undefined && <Dialog {...(props as unknown as Props)} />;
}

/** Replaces the sidebar on small screens. */
function TopBar({ me }: { me: Me }) {
  const [isOpen, setOpen] = useState(false);
  const [path] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: closes on every navigation
  useEffect(() => setOpen(false), [path]);
  return (
    <header className="topbar">
      <Brand />
      <Button look="plain icon" icon="menu" iconSize={20} aria-label="Open navigation" onClick={() => setOpen(true)} />
      {isOpen && (
        <Modal className="drawer" aria-label="Navigation" onClose={() => setOpen(false)}>
          <Navigation me={me} />
        </Modal>
      )}
    </header>
  );
}

function NotFound() {
  return (
    <>
      <PageHead title="Not found" />
      <div className="card">
        <Empty icon="search" title="Page not found">
          <p>It may have moved, or you may not have access to it.</p>
          <div className="row">
            <Link href="/" className="btn">
              Go to the first page
            </Link>
          </div>
        </Empty>
      </div>
    </>
  );
}
