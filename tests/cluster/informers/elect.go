package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

const lease = "leader"

// candidate is one who wants to lead.
type candidate struct {
	id      string
	stop    context.CancelFunc
	leading atomic.Bool
	ended   chan struct{}
}

// elect lets one candidate lead, a second one wait, and the second take over when the first
// releases its lease, long before it would have run out.
func elect(ctx context.Context, client kubernetes.Interface, namespace string, figures map[string]any) error {
	start := time.Now()
	first, err := candidacy(ctx, client, namespace, "first")
	if err != nil {
		return err
	}
	if err := eventually(ctx, "the first candidate's lead", first.leading.Load); err != nil {
		return err
	}
	acquired := since(start)
	second, err := candidacy(ctx, client, namespace, "second")
	if err != nil {
		return err
	}
	// Longer than a lease lasts that nobody renews.
	for range 25 {
		time.Sleep(200 * time.Millisecond)
		if second.leading.Load() || !first.leading.Load() {
			return fmt.Errorf("the lease of a leader that renews it is not kept")
		}
	}
	holder, transitions, err := read(ctx, client, namespace)
	if err != nil {
		return err
	}
	if holder != "first" || transitions != 0 {
		return fmt.Errorf("the lease is held by %q after %d transitions", holder, transitions)
	}

	start = time.Now()
	first.stop()
	<-first.ended
	released := since(start)
	if err := eventually(ctx, "the second candidate's lead", second.leading.Load); err != nil {
		return err
	}
	takenOver := since(start)
	if holder, _, err = read(ctx, client, namespace); err != nil || holder != "second" {
		return fmt.Errorf("the lease is held by %q after the second took over: %w", holder, err)
	}
	second.stop()
	<-second.ended
	if holder, _, err = read(ctx, client, namespace); err != nil || holder != "" {
		return fmt.Errorf("the lease is held by %q after all released it: %w", holder, err)
	}
	figures["election"] = map[string]int64{"acquiredMillis": acquired, "releasedMillis": released, "takenOverMillis": takenOver}
	return nil
}

func candidacy(ctx context.Context, client kubernetes.Interface, namespace, id string) (*candidate, error) {
	ctx, stop := context.WithCancel(ctx)
	c := &candidate{id: id, stop: stop, ended: make(chan struct{})}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: lease, Namespace: namespace},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: id},
		},
		LeaseDuration:   4 * time.Second,
		RenewDeadline:   3 * time.Second,
		RetryPeriod:     500 * time.Millisecond,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { c.leading.Store(true) },
			OnStoppedLeading: func() { c.leading.Store(false) },
		},
	})
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(c.ended)
		elector.Run(ctx)
	}()
	return c, nil
}

func read(ctx context.Context, client kubernetes.Interface, namespace string) (holder string, transitions int32, err error) {
	found, err := client.CoordinationV1().Leases(namespace).Get(ctx, lease, metav1.GetOptions{})
	if err != nil {
		return "", 0, err
	}
	if found.Spec.HolderIdentity != nil {
		holder = *found.Spec.HolderIdentity
	}
	if found.Spec.LeaseTransitions != nil {
		transitions = *found.Spec.LeaseTransitions
	}
	return holder, transitions, nil
}

func eventually(ctx context.Context, what string, is func() bool) error {
	for !is() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s did not come", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}
