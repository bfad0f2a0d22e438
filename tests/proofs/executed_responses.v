(* Lemma update rule and theorem core and radius of models/mathematics.md, with the factors of the program: significand /
   2^shift (BasicFactor). So the radius can be computed, and theorems.sh holds it against EpochResponses<64>. *)
From Coq Require Import Reals Lra Lia ZArith List Bool.
From Flocq Require Import Core.
From Holdfast Require Import core_and_radius.
Import ListNotations.
Open Scope Z_scope.

Definition factor : Type := Z * Z.              (* significand, shift *)
Definition value (d : factor) : R := (IZR (fst d) / IZR (2 ^ snd d))%R.
Definition apply (d : factor) r := (2 * (fst d * r) + 2 ^ snd d) / (2 * 2 ^ snd d).
Definition apply_down (d : factor) r := (fst d * r) / 2 ^ snd d.
Definition apply_up (d : factor) r := - ((- (fst d * r)) / 2 ^ snd d).

Theorem factors : forall d r, 0 <= snd d ->
  Zfloor (value d * IZR r) = apply_down d r /\ Zceil (value d * IZR r) = apply_up d r /\ nearest (value d * IZR r) = apply d r.
Proof.
  intros d r H. assert (0 < 2 ^ snd d) by (apply Z.pow_pos_nonneg; lia). assert (IZR (2 ^ snd d) <> 0%R) by (apply IZR_neq; lia).
  unfold value, apply_down, apply_up, nearest, apply, Zceil. repeat split; rewrite <- Zfloor_div by lia.
  - f_equal. rewrite mult_IZR. field. assumption.
  - f_equal. f_equal. rewrite opp_IZR, mult_IZR. field. assumption.
  - f_equal. rewrite plus_IZR, !mult_IZR. field. assumption.
Qed.

(* A training: decay, gradient factor, and whether a step is the first of an epoch. *)
Definition steps : Type := list (factor * factor * bool).
Definition L : Z := 2 ^ 60.
Definition none : factor := (0, 0).
Definition decay_at (s : steps) t := fst (fst (nth t s (none, none, false))).
Definition gradient_at (s : steps) t := snd (fst (nth t s (none, none, false))).
Definition epoch_at (s : steps) t : nat := length (filter (fun x => snd x) (firstn (S t) s)) - 1.
Definition decayed_of (s : steps) t (r : state) : state := (fst r - apply_down (decay_at s t) (fst r), 0).
Definition impulse_of (s : steps) (gamma : Z) t : state := (Z.min (apply_up (gradient_at s t) gamma) (2 * L), 0).
Definition radius_of (gamma : Z) (s : steps) : Z :=
  radius_of_steps (epoch_at s) (length s) (2 * L) (decayed_of s) (impulse_of s gamma) (length s).

Theorem executed_radius : forall gamma s, (forall t, 0 <= snd (decay_at s t) /\ 0 <= snd (gradient_at s t)) ->
  radius_of gamma s = radius unit L (epoch_at s) (length s) (fun _ => gamma) (fun t => value (decay_at s t)) (fun t => value (gradient_at s t)) tt (length s).
Proof.
  intros gamma s H. unfold radius_of, radius, radius_of_steps.
  assert (G : forall e t, greatest (epoch_at s) (decayed_of s) (impulse_of s gamma) e t =
    greatest (epoch_at s) (decayed (fun t => value (decay_at s t))) (impulse L (fun t => value (gradient_at s t)) gamma) e t).
  { assert (A : forall t r, decayed_of s t r = decayed (fun t => value (decay_at s t)) t r).
    { intros t r. unfold decayed_of, decayed, h. f_equal. f_equal. symmetry. apply factors, H. }
    assert (I : forall t, impulse_of s gamma t = impulse L (fun t => value (gradient_at s t)) gamma t).
    { intros t. unfold impulse_of, impulse. f_equal. f_equal. symmetry. apply factors, H. }
    intros e. induction t; simpl; [reflexivity|]. rewrite IHt, A. unfold impulse_in. rewrite I. reflexivity. }
  assert (U : forall n t, upto (fun e => greatest (epoch_at s) (decayed_of s) (impulse_of s gamma) e t) n =
    upto (fun e => greatest (epoch_at s) (decayed (fun t => value (decay_at s t))) (impulse L (fun t => value (gradient_at s t)) gamma) e t) n).
  { intros n t. induction n; simpl; [reflexivity|]. rewrite IHn, G. reflexivity. }
  rewrite U. reflexivity.
Qed.

(* ---- Examples, and wrong statements refuted ---- *)
Example factors_example : apply_down (3, 1) 3 = 4 /\ apply_up (3, 1) 3 = 5 /\ apply (3, 1) 3 = 5.
Proof. repeat split; reflexivity. Qed.
Example executed_radius_example : radius_of 5 [((1, 2), (3, 1), true); ((1, 2), (3, 1), true)] = 8 - apply_down (1, 2) 8 + 8.
Proof. reflexivity. Qed.
(* An arithmetic shift is the floor, also below 0. *)
Fact factors_mutant : apply_down (1, 1) (-3) = -2 /\ Zfloor (value (1, 1) * IZR (-3)) <> -1.
Proof. split; [reflexivity|]. destruct (factors (1, 1) (-3) ltac:(simpl; lia)) as (-> & _). vm_compute. discriminate. Qed.
(* One epoch, of which the greater response counts, and not both. *)
Fact executed_radius_mutant : radius_of 5 [((1, 2), (3, 1), true); ((1, 2), (3, 1), false)] <> 8 - apply_down (1, 2) 8 + 8.
Proof. discriminate. Qed.
