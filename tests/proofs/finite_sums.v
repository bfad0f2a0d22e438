(* Sums over the outcomes 0 .. n - 1 of a release, and what privacy asks of two laws on them. Shared by the files here. *)
From Coq Require Import Reals Lra Lia ZArith Arith.
Open Scope R_scope.

Fixpoint total (n : nat) (f : nat -> R) : R :=
  match n with O => 0 | S m => total m f + f m end.

Lemma total_le n f g : (forall c, (c < n)%nat -> f c <= g c) -> total n f <= total n g.
Proof. induction n; simpl; intros H; [lra|]. apply Rplus_le_compat; [apply IHn; intros; apply H; lia|apply H; lia]. Qed.
Lemma total_ext n f g : (forall c, (c < n)%nat -> f c = g c) -> total n f = total n g.
Proof. intros H. apply Rle_antisym; apply total_le; intros; rewrite H by assumption; lra. Qed.
Lemma total_add n f g : total n (fun c => f c + g c) = total n f + total n g.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.
Lemma total_scale n f a : total n (fun c => a * f c) = a * total n f.
Proof. induction n; simpl; [lra|]. rewrite IHn; lra. Qed.
Lemma total_pos n f : (forall c, (c < n)%nat -> 0 <= f c) -> 0 <= total n f.
Proof. intros H. replace 0 with (total n (fun c => 0 * f c)) by (rewrite total_scale; lra). apply total_le. intros. rewrite Rmult_0_l. auto. Qed.
(* at most a at one class and b at each of the others *)
Lemma total_one n f l a b : (l < n)%nat ->
  (forall c, (c < n)%nat -> f c <= if Nat.eqb c l then a else b) -> total n f <= a + INR (n - 1) * b.
Proof.
  intros Hl H.
  assert (E : forall m, (m <= n)%nat -> total m f <= if Nat.ltb l m then a + (INR m - 1) * b else INR m * b).
  { induction m; intros Hm; [simpl; lra|].
    assert (IH := IHm ltac:(lia)). specialize (H m ltac:(lia)). rewrite S_INR. simpl total.
    destruct (Nat.eqb_spec m l); destruct (Nat.ltb_spec l m); destruct (Nat.ltb_spec l (S m)); try lia; subst; lra. }
  specialize (E n ltac:(lia)). destruct (Nat.ltb_spec l n); [|lia].
  rewrite minus_INR by lia. simpl. lra.
Qed.

Lemma exp_ge_1 x : 0 <= x -> 1 <= exp x.
Proof. intros. rewrite <- exp_0. destruct (Req_dec x 0) as [->|]; [lra|]. left. apply exp_increasing. lra. Qed.

(* A law on n outcomes, and (eps, delta)-privacy of a pair of laws, in one direction. *)
Definition is_law (n : nat) (p : nat -> R) := (forall c, 0 <= p c) /\ total n p = 1.
Definition of_event (n : nat) (p : nat -> R) (event : nat -> bool) : R := total n (fun c => if event c then p c else 0).
Definition private (n : nat) (eps delta : R) (p q : nat -> R) : Prop :=
  forall event, of_event n p event <= exp eps * of_event n q event + delta.

(* It is enough that the losses of single outcomes, where there are any, come to delta. *)
Lemma private_by_outcome n eps delta p q : total n (fun c => Rmax 0 (p c - exp eps * q c)) <= delta -> private n eps delta p q.
Proof.
  intros H event. unfold of_event. rewrite <- total_scale.
  assert (total n (fun c => if event c then p c else 0) <=
          total n (fun c => exp eps * (if event c then q c else 0) + Rmax 0 (p c - exp eps * q c))); [|rewrite total_add in *; lra].
  apply total_le. intros c _. pose proof (Rmax_l 0 (p c - exp eps * q c)). pose proof (Rmax_r 0 (p c - exp eps * q c)).
  destruct (event c); lra.
Qed.
(* and where none loses, nothing does *)
Lemma private_by_ratio n eps p q : (forall c, (c < n)%nat -> p c <= exp eps * q c) -> private n eps 0 p q.
Proof.
  intros H. apply private_by_outcome. apply Rle_trans with (total n (fun c => 0 * 0)); [|rewrite total_scale; lra].
  apply total_le. intros c Hc. specialize (H c Hc). apply Rmax_lub; lra.
Qed.
Lemma private_refl n eps delta p : 0 <= eps -> 0 <= delta -> (forall c, 0 <= p c) -> private n eps delta p p.
Proof.
  intros He Hd Hp event. pose proof (exp_ge_1 eps He).
  assert (0 <= of_event n p event) by (apply total_pos; intros; destruct (event c); [apply Hp|lra]). nra.
Qed.

(* For examples: bounds of e, and powers that are exact. *)
Lemma exp_1 : 2 <= exp 1.
Proof. pose proof (exp_ineq1_le 1). lra. Qed.
Lemma exp_minus_1 : exp (- (1)) <= / 2.
Proof. rewrite exp_Ropp. apply Rinv_le_contravar; [lra|apply exp_1]. Qed.
Lemma exp_ln_2 : exp (ln 2) = 2.
Proof. apply exp_ln. lra. Qed.
Lemma exp_minus_ln_2 : exp (- ln 2) = / 2.
Proof. rewrite exp_Ropp, exp_ln_2. reflexivity. Qed.
