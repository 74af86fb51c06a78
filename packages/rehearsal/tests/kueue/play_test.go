// Package scheduler: one round of Kueue's own scheduler for each step of a play, as after a restart of Kueue.
package scheduler

import (
	"context"
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/util/routine"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	"sigs.k8s.io/kueue/pkg/workload"
)

type playObjects struct {
	Namespaces    []string                        `json:"namespaces"`
	Flavors       []kueue.ResourceFlavor          `json:"flavors"`
	ClusterQueues []kueue.ClusterQueue            `json:"clusterQueues"`
	Cohorts       []kueue.Cohort                  `json:"cohorts"`
	LocalQueues   []kueue.LocalQueue              `json:"localQueues"`
	Transform     []config.ResourceTransformation `json:"transformations"`
	Exclude       []string                        `json:"exclude"`
}

type playStep struct {
	Title   string           `json:"title"`
	Objects string           `json:"objects"`
	Add     []kueue.Workload `json:"add"`
	Finish  []string         `json:"finish"`
}

type playInput struct {
	Objects map[string]playObjects `json:"objects"`
	Steps   []playStep             `json:"steps"`
}

func TestPlay(t *testing.T) {
	raw, err := os.ReadFile(os.Getenv("PLAY"))
	if err != nil {
		t.Skip("no PLAY")
	}
	var in playInput
	if err := json.Unmarshal(raw, &in); err != nil {
		t.Fatal(err)
	}
	var current []kueue.Workload
	var out []map[string]any
	for _, step := range in.Steps {
		for _, name := range step.Finish {
			for i := range current {
				if current[i].Name == name {
					current = append(current[:i], current[i+1:]...)
					break
				}
			}
		}
		current = append(current, step.Add...)
		if step.Title == "clear" {
			current = nil
		}
		current = playOnce(t, in.Objects[step.Objects], current)
		results := map[string]any{}
		for _, w := range current {
			conds := []string{}
			for _, c := range w.Status.Conditions {
				conds = append(conds, c.Type+" "+string(c.Status)+" "+c.Reason+": "+c.Message)
			}
			r := map[string]any{"conditions": conds}
			if w.Status.Admission != nil {
				r["clusterQueue"] = w.Status.Admission.ClusterQueue
				r["podSets"] = w.Status.Admission.PodSetAssignments
			}
			results[w.Name] = r
		}
		out = append(out, map[string]any{"title": step.Title, "workloads": results})
	}
	b, _ := json.MarshalIndent(out, "", " ")
	if err := os.WriteFile(os.Getenv("PLAYED"), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func playOnce(t *testing.T, o playObjects, wls []kueue.Workload) []kueue.Workload {
	ctx, log := utiltesting.ContextWithLog(t)
	objs := []client.Object{}
	for _, n := range o.Namespaces {
		objs = append(objs, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n, Labels: map[string]string{"kubernetes.io/metadata.name": n}}})
	}
	for i := range wls {
		wls[i].ResourceVersion = ""
	}
	cl := utiltesting.NewClientBuilder().
		WithLists(&kueue.WorkloadList{Items: wls}, &kueue.LocalQueueList{Items: o.LocalQueues}).
		WithObjects(objs...).WithStatusSubresource(&kueue.Workload{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: utiltesting.TreatSSAAsStrategicMerge}).Build()
	cache := schdcache.New(cl, schdcache.WithResourceTransformations(o.Transform), schdcache.WithExcludedResourcePrefixes(o.Exclude))
	queues := qcache.NewManagerForUnitTests(cl, cache, qcache.WithResourceTransformations(o.Transform), qcache.WithExcludedResourcePrefixes(o.Exclude))
	for i := range o.LocalQueues {
		if err := queues.AddLocalQueue(ctx, &o.LocalQueues[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i := range o.Flavors {
		cache.AddOrUpdateResourceFlavor(log, &o.Flavors[i])
	}
	for i := range o.Cohorts {
		if err := cache.AddOrUpdateCohort(&o.Cohorts[i]); err != nil {
			t.Fatal(err)
		}
		queues.AddOrUpdateCohort(ctx, &o.Cohorts[i])
	}
	for i := range o.ClusterQueues {
		cq := o.ClusterQueues[i].DeepCopy()
		if err := cache.AddClusterQueue(ctx, cq); err != nil {
			t.Fatal(err)
		}
		if err := queues.AddClusterQueue(ctx, cq); err != nil {
			t.Fatal(err)
		}
		if err := cl.Create(ctx, cq); err != nil {
			t.Fatal(err)
		}
	}
	for i := range wls {
		if workload.HasQuotaReservation(&wls[i]) {
			cache.AddOrUpdateWorkload(log, &wls[i])
		}
	}
	s := New(queues, cache, cl, &utiltesting.EventRecorder{}, WithPreemptionExpectations(preemptexpectations.New()))
	wg := sync.WaitGroup{}
	s.setAdmissionRoutineWrapper(routine.NewWrapper(func() { wg.Add(1) }, func() { wg.Done() }))
	for range 40 {
		c, cancel := context.WithTimeout(ctx, 700*time.Millisecond)
		go queues.CleanUpOnContext(c)
		s.schedule(c)
		wg.Wait()
		ended := c.Err() != nil
		cancel()
		if ended {
			break
		}
	}
	got := &kueue.WorkloadList{}
	if err := cl.List(ctx, got); err != nil {
		t.Fatal(err)
	}
	return got.Items
}
