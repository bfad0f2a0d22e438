(* Theorem convex radius of models/mathematics.md, over the real numbers: from what one step does to a distance (convex step,
   convex rounding: by hand) to what all of them do. That the program computes it rounded up is tested. *)
From Coq Require Import Reals Lra Lia Arith.
Open Scope R_scope.

Fixpoint sum (f : nat -> R) (n : nat) : R := match n with O => 0 | S k => sum f k + f k end.
Fixpoint greatest (f : nat -> R) (from n : nat) : R := match n with O => 0 | S k => Rmax (greatest f from k) (f (from + k)%nat) end.
Lemma sum_le f g n : (forall k, (k < n)%nat -> f k <= g k) -> sum f n <= sum g n.
Proof. induction n; simpl; intros H; [lra|]. pose proof (H n ltac:(lia)). pose proof (IHn ltac:(intros; apply H; lia)). lra. Qed.
Lemma sum_add f g n : sum (fun k => f k + g k) n = sum f n + sum g n.
Proof. induction n; simpl; [lra|]. rewrite IHn. lra. Qed.
Lemma sum_scale f c n : sum (fun k => c * f k) n = c * sum f n.
Proof. induction n; simpl; [lra|]. rewrite IHn. lra. Qed.

Lemma greatest_ge f from n k : (k < n)%nat -> f (from + k)%nat <= greatest f from n.
Proof. induction n; intros H; [lia|]. simpl. destruct (Nat.eq_dec k n) as [->|]; [apply Rmax_r|]. eapply Rle_trans; [apply IHn; lia|apply Rmax_l]. Qed.
Lemma greatest_pos f from n : 0 <= greatest f from n.
Proof. induction n; simpl; [lra|]. eapply Rle_trans; [exact IHn|apply Rmax_l]. Qed.
(* Of an epoch at most one step counts: the one in which the record acts. *)
Lemma one_of_an_epoch (acts : nat -> bool) f from n : (forall s t, acts s = true -> acts t = true -> (from <= s < from + n)%nat -> (from <= t < from + n)%nat -> s = t) ->
  (forall s, 0 <= f s) -> sum (fun k => if acts (from + k)%nat then f (from + k)%nat else 0) n <= greatest f from n.
Proof.
  intros O F. induction n as [|n IH]; simpl; [lra|].
  assert (IH' := IH ltac:(intros; apply O; auto; lia)). pose proof (Rmax_l (greatest f from n) (f (from + n)%nat)). pose proof (Rmax_r (greatest f from n) (f (from + n)%nat)).
  destruct (acts (from + n)%nat) eqn:A; [|lra].
  assert (Z : sum (fun k => if acts (from + k)%nat then f (from + k)%nat else 0) n <= 0).
  { clear - O A. apply Rle_trans with (sum (fun _ => 0 * 0) n); [|rewrite sum_scale; lra]. apply sum_le. intros k Hk.
    destruct (acts (from + k)%nat) eqn:B; [|lra]. assert (from + k = from + n)%nat by (apply O; auto; lia). lia. }
  lra.
Qed.
Lemma sum_epochs m f n : sum f (n * m) = sum (fun e => sum (fun k => f (e * m + k)%nat) m) n.
Proof.
  assert (P : forall a b, sum f (a + b) = sum f a + sum (fun k => f (a + k)%nat) b).
  { intros x y. induction y as [|y IHy]; [rewrite Nat.add_0_r; simpl; lra|]. rewrite Nat.add_succ_r. simpl. rewrite IHy. lra. }
  induction n; [reflexivity|]. replace (S n * m)%nat with (n * m + m)%nat by lia. rewrite P, IHn. reflexivity.
Qed.

Section Radius.
Variables (T m E : nat).                     (* steps, epochs of m steps *)
Variables d v eta w : nat -> R.               (* decay, step, rounding; weights of the average *)
Variable a : R.                              (* c R, or twice that *)
Hypothesis Hm : (0 < m)%nat.
Hypothesis HT : (T <= E * m)%nat.
Hypothesis Hd : forall t, 0 <= d t <= 1.
Hypothesis Hv : forall t, 0 <= v t.
Hypothesis Hw : forall t, 0 <= w t.
Hypothesis Ha : 0 <= a.
Hypothesis Heta : forall t, 0 <= eta t.

(* of step t: what a unit that enters there counts in the end, C_t = w_t + (1 - d_(t + 1)) C_(t + 1); left n: n steps follow *)
Fixpoint counts (left t : nat) : R := match left with O => w t | S k => w t + (1 - d (S t)) * counts k (S t) end.
Definition C (t : nat) : R := counts (T - 1 - t) t.
Definition radius : R := sum (fun e => greatest (fun s => if Nat.ltb s T then v s * a * C s else 0) (e * m) m) E + 2 * sum (fun s => eta s * C s) T.

Lemma counts_pos k : forall t, 0 <= counts k t.
Proof. induction k; intros t; simpl; [apply Hw|]. pose proof (Hw t). pose proof (Hd (S t)). pose proof (IHk (S t)). assert (0 <= (1 - d (S t)) * counts k (S t)) by (apply Rmult_le_pos; lra). lra. Qed.
Lemma C_step t : (S t < T)%nat -> C t = w t + (1 - d (S t)) * C (S t).
Proof. intros H. unfold C. replace (T - 1 - t)%nat with (S (T - 1 - S t)) by lia. reflexivity. Qed.
Lemma C_last t : (S t = T)%nat -> C t = w t.
Proof. intros H. unfold C. replace (T - 1 - t)%nat with O by lia. reflexivity. Qed.
(* e_t after t steps, what enters in step t at most x_t: the weighted end is the sum of x_t C_t. *)
Lemma unrolled (e x : nat -> R) : e O = 0 -> (forall t, (t < T)%nat -> e (S t) <= (1 - d t) * e t + x t) ->
  sum (fun t => w t * e (S t)) T <= sum (fun t => x t * C t) T.
Proof.
  intros E0 ES.
  assert (U : forall n, (n <= T)%nat -> sum (fun t => w t * e (S t)) n + (match n with O => 0 | S k => (C k - w k) * e n end) <= sum (fun t => x t * C t) n).
  { induction n as [|n IH]; intros Hn; simpl; [lra|]. specialize (IH ltac:(lia)). pose proof (ES n ltac:(lia)) as En. pose proof (counts_pos (T - 1 - n) n) as Cn. fold (C n) in Cn.
    assert (C n * e (S n) <= C n * ((1 - d n) * e n + x n)) by (apply Rmult_le_compat_l; assumption).
    destruct n as [|n]; [rewrite E0 in *; simpl in *; lra|]. pose proof (C_step n ltac:(lia)) as CS.
    assert (C n - w n = (1 - d (S n)) * C (S n)) by lra. rewrite H0 in IH. lra. }
  specialize (U T (le_n T)). destruct T as [|k] eqn:ET; [simpl; lra|]. rewrite <- ET in *. rewrite C_last in U by lia. lra.
Qed.

(* A record acts once an epoch; e is the distance of two runs, each off the exact step by eta at most. *)
Theorem convex_radius : forall (acts : nat -> bool) (e : nat -> R), 
  (forall s t, acts s = true -> acts t = true -> (s / m = t / m)%nat -> s = t) -> e O = 0 ->
  (forall t, (t < T)%nat -> e (S t) <= (1 - d t) * e t + (if acts t then v t * a else 0) + 2 * eta t) ->
  sum (fun t => w t * e (S t)) T <= radius.
Proof.
  intros acts e Once E0 ES. set (x := fun t => (if acts t then v t * a else 0) + 2 * eta t).
  apply Rle_trans with (sum (fun t => x t * C t) T); [apply unrolled; [exact E0|intros t Ht; specialize (ES t Ht); unfold x; lra]|].
  set (f := fun s => if Nat.ltb s T then v s * a * C s else 0).
  assert (F : forall s, 0 <= f s).
  { intros s. unfold f. destruct (Nat.ltb s T); [|lra]. apply Rmult_le_pos; [apply Rmult_le_pos; [apply Hv|exact Ha]|apply counts_pos]. }
  assert (A : sum (fun t => x t * C t) T <= sum (fun t => if acts t then f t else 0) T + 2 * sum (fun s => eta s * C s) T).
  { rewrite <- sum_scale, <- sum_add. apply sum_le. intros t Ht. unfold x, f. apply Nat.ltb_lt in Ht. rewrite Ht. destruct (acts t); lra. }
  unfold radius. fold f. apply Rle_trans with (sum (fun t => if acts t then f t else 0) T + 2 * sum (fun s => eta s * C s) T); [exact A|].
  apply Rplus_le_compat_r.
  assert (M : sum (fun t => if acts t then f t else 0) T <= sum (fun t => if acts t then f t else 0) (E * m)).
  { assert (M : forall k, (T <= k)%nat -> sum (fun t => if acts t then f t else 0) T <= sum (fun t => if acts t then f t else 0) k); [|apply M, HT].
    clearbody f. clear - F. intros k Hk. induction Hk as [|k Hk IH]; [lra|]. cbn [sum]. pose proof (F k). destruct (acts k); lra. }
  eapply Rle_trans; [exact M|]. rewrite sum_epochs. apply sum_le. intros k _. apply one_of_an_epoch; [|exact F].
  intros s t As At Hs Ht. apply Once; auto.
  rewrite <- (Nat.div_unique s m k (s - k * m) ltac:(lia) ltac:(lia)), <- (Nat.div_unique t m k (t - k * m) ltac:(lia) ltac:(lia)). reflexivity.
Qed.
End Radius.

(* ---- An example, and a wrong statement refuted: two steps, one epoch ---- *)
Example convex_radius_example : let e t := match t with O => 0 | 1%nat => 1 | _ => 1 end in
  sum (fun t => (if Nat.eqb t 1 then 1 else 0) * e (S t)) 2 <= radius 2 2 1 (fun _ => 0) (fun _ => 1) (fun _ => 0) (fun t => if Nat.eqb t 1 then 1 else 0) 1.
Proof.
  intros e. apply convex_radius with (acts := fun t => Nat.eqb t 0); try lia; intros; try lra; try (destruct (Nat.eqb t 1); lra).
  - apply Nat.eqb_eq in H, H0. congruence.
  - reflexivity.
  - unfold e. destruct t as [|[|t]]; simpl; lra || lia.
Qed.
(* A record that acts in both steps of an epoch goes twice as far. *)
Fact convex_radius_mutant : let e t := INR t in (forall t, (t < 2)%nat -> e (S t) <= (1 - 0) * e t + 1 * 1 + 2 * 0) /\
  ~ sum (fun t => (if Nat.eqb t 1 then 1 else 0) * e (S t)) 2 <= radius 2 2 1 (fun _ => 0) (fun _ => 1) (fun _ => 0) (fun t => if Nat.eqb t 1 then 1 else 0) 1.
Proof.
  split; [intros [|[|t]] H; simpl; lra || lia|]. unfold radius, C. simpl. unfold Rmax. repeat destruct (Rle_dec _ _); lra.
Qed.
