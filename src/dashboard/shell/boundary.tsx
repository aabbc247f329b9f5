import { Component, type ReactNode } from "react";
import { Failed } from "../ui/states.tsx";

/** A page that breaks, or a part of it that cannot be loaded, takes nothing else with it. */
export class Boundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <div className="card">
        <Failed error={error} again={() => location.reload()} />
      </div>
    );
  }
}
