import { Component, type ReactNode, Suspense, useEffect, useRef, useState } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { maySeeAll } from "../data/roles.ts";
import type { Me } from "../data/session.ts";
import { Button } from "../ui/button.tsx";
import { Modal } from "../ui/dialog.tsx";
import { Empty, LoadError, Skeleton } from "../ui/feedback.tsx";
import { PageHead } from "../ui/page.tsx";
import { Brand, Navigation } from "./navigation.tsx";
import { accountPage, adminPages, settingsPage, userPages } from "./pages.tsx";

export function Shell({ me }: { me: Me }) {
  const [path] = useLocation();
  const main = useRef<HTMLElement>(null);
  const shown = useRef(path);
  // After navigation, scroll to the top and move the focus for screen readers.
  useEffect(() => {
    if (shown.current === path) return;
    shown.current = path;
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [path]);
  const pages = maySeeAll(me.role) ? [...userPages, ...adminPages] : userPages;
  return (
    <div className="shell">
      <a className="skip" href="#content">
        Skip to content
      </a>
      <Navigation me={me} />
      <div>
        <TopBar me={me} />
        <main id="content" className="main" ref={main} tabIndex={-1}>
          <ErrorBoundary key={path}>
            <Suspense fallback={<Skeleton lines={6} />}>
              <Switch>
                {pages.map((entry) => (
                  <Route key={entry.path} path={entry.path} component={entry.page} />
                ))}
                {maySeeAll(me.role) && <Route path="/admin/accounts/:id" component={accountPage} />}
                <Route path="/settings" component={settingsPage} />
                <Route component={NotFound} />
              </Switch>
            </Suspense>
          </ErrorBoundary>
        </main>
      </div>
    </div>
  );
}

const importErrorText = "The code of this page could not be fetched. The gateway can't be reached or was updated.";

/** Whether a dynamic import failed; browsers word this differently, and add the URL of the module. */
function isImportError(error: unknown): boolean {
  return error instanceof TypeError && error.message.includes("module");
}

/** Confines an error of a page, or of loading its code, to that page. */
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
        <LoadError
          error={isImportError(error) ? new Error(importErrorText) : error}
          onRetry={() => location.reload()}
        />
      </div>
    );
  }
}

/** Replaces the sidebar on small screens. */
function TopBar({ me }: { me: Me }) {
  const [isOpen, setOpen] = useState(false);
  const [path] = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: closes on every navigation
  useEffect(() => setOpen(false), [path]);
  return (
    <div className="topbar">
      <Brand />
      <Button look="plain icon" icon="menu" iconSize={20} aria-label="Open navigation" onClick={() => setOpen(true)} />
      {isOpen && (
        <Modal className="drawer" aria-label="Navigation" onClose={() => setOpen(false)}>
          <Navigation me={me} />
        </Modal>
      )}
    </div>
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
              Go to overview
            </Link>
          </div>
        </Empty>
      </div>
    </>
  );
}
